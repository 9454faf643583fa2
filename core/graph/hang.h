#pragma once

#include "core/base/sentence.h"
#include "core/cost/communicators.h"
#include "core/schedule/action.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope {

/// A call of a rank that waits for another, which is the next of the cycle.
struct WaitStep {
    enum class Why : std::uint8_t {
        OtherEnd,  ///< the send or receive that belongs to it
        Queue,     ///< what was posted before it in its communicator
        NotPosted, ///< an action of its rank, which comes first
        Input,     ///< the transfer that it needs
    };
    Rank rank;
    std::size_t action = 0; ///< the call's index in the rank's list
    std::string call;
    std::string waits_for;
    Why why = Why::OtherEnd;
    std::string communicator; ///< with Queue
};

/// "rank 0: 0SEND_F1 waits for 1RECV_F1; rank 1: …"
[[nodiscard]] Sentence cycleText(const std::vector<WaitStep>& cycle);

/// Whether a lowered schedule can hang. It hangs always or never, whatever the timing: see LoweredGraph.
struct HangVerdict {
    std::vector<WaitStep> cycle; ///< the shortest cycle of blocked calls; empty: it cannot hang
    std::int64_t from_bytes = 0; ///< payloads of this size and more hang; 0: all
    [[nodiscard]] bool hangs() const { return !cycle.empty(); }
};

/// Linear in actions, apart from the search for the shortest cycle, which is among the blocked calls at the fronts of
/// ranks and queues.
[[nodiscard]] HangVerdict hangVerdict(const LoweredSchedule& lowered, const QueueModel& queues);

/// A receive whose place in its communicator is that of another send. NCCL pairs the two by order, so it would get the
/// wrong data.
struct WrongPairing {
    Rank rank;
    std::size_t action = 0; ///< of the receive
    std::string receive;
    std::string send; ///< that it is paired with
    Rank from;
};

/// The first of each ordered pair of ranks and communicator. None with tags, and none where hangVerdict() finds no
/// hang: two transfers in opposite orders wait for each other. Linear.
[[nodiscard]] std::vector<WrongPairing> wrongPairings(const LoweredSchedule& lowered,
                                                      const Communicators& communicators);

} // namespace bubblescope
