#pragma once

#include "core/base/result.h"
#include "runtime/comm/activity.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace bubblescope::runtime {

/// What processes exchange besides tensors. Small, with a fixed size. All processes of a job run the same program on
/// machines of one kind.
struct ControlMessage {
    enum class Kind : std::uint8_t {
        Alive,   ///< what the sender is doing; times are ages
        Arrive,  ///< to the root: the sender's time
        Release, ///< from the root: the latest of all
        Ping,    ///< asks for the receiver's clock
        Pong,    ///< and is answered by it
        Ended,   ///< the run ends early, and why
        Bye,     ///< the sender knows that it has, and needs nobody any more
    };

    Kind kind = Kind::Alive;
    ErrorKind error_kind = ErrorKind::Run;
    Activity activity;
    std::int64_t round = 0;
    std::array<std::int64_t, 3> times{};
    std::array<char, 640> message{}; ///< of an error; texts end with a 0
    std::array<char, 256> hint{};
};

/// Control messages between processes. Nothing here waits. Failures show as silence, which the watchdog reports. One
/// thread at a time.
class ControlChannel {
public:
    struct Received {
        Rank from;
        ControlMessage message;
    };

    ControlChannel() = default;
    ControlChannel(const ControlChannel&) = delete;
    ControlChannel& operator=(const ControlChannel&) = delete;
    virtual ~ControlChannel() = default;

    virtual void send(Rank to, const ControlMessage& message) = 0;
    /// The next message that has come, if there is one.
    [[nodiscard]] virtual std::optional<Received> receive() = 0;
    /// All processes are about to close it: what takes all of them to free may be freed.
    virtual void closeTogether() {}
};

/// A team of processes that brings its own channel for control messages.
class ControlSource {
public:
    virtual ~ControlSource() = default;
    /// A channel between its processes, which call this together. The team must outlive the channel.
    [[nodiscard]] virtual Result<std::unique_ptr<ControlChannel>> openControl() = 0;
};

} // namespace bubblescope::runtime
