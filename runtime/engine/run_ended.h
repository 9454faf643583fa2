#pragma once

#include "core/base/job.h"
#include "core/base/time.h"
#include "runtime/comm/transport.h"

#include <functional>
#include <string>

// The early end of a run, for the threads of its ranks. Transport::error() returns the reason.
namespace bubblescope::runtime {

/// Thrown to leave a rank's loop, also from within an op, if the run has ended early.
struct RunEnded {};

/// Throws RunEnded if the run has ended.
void throwIfEnded(const Transport& transport);
/// As throwIfEnded(transport); also ends the run if the user has cancelled it.
void throwIfEnded(Transport& transport, const JobControl& control);

/// Waits for a message. Throws RunEnded.
[[nodiscard]] Taken receiveOrLeave(Transport& transport, Rank from, const MessageKey& key);
/// Waits for all ranks, and returns the latest of their times. Throws RunEnded.
[[nodiscard]] TimeNs meetOrLeave(Transport& transport, TimeNs time);

/// Calls `run`. An exception other than RunEnded fails the run for all ranks; `where` describes the rank's position for
/// the message.
void failOnException(Transport& transport, const std::function<void()>& run,
                     const std::function<std::string()>& where) noexcept;

} // namespace bubblescope::runtime
