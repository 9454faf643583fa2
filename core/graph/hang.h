#pragma once

#include "core/base/sentence.h"
#include "core/cost/communicators.h"
#include "core/schedule/action.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bubblescope {

/// A call that is blocked by the next call in the cycle.
struct WaitStep {
    enum class Why : std::uint8_t {
        OtherEnd,  ///< the send or receive at the other end
        Queue,     ///< an earlier call in the queue of its communicator
        NotPosted, ///< an earlier action of its rank
        Input,     ///< the transfer that provides an op's input
    };
    Rank rank;
    std::size_t action = 0; ///< index of the call in the rank's list
    std::string call;
    std::string waits_for;
    Why why = Why::OtherEnd;
    std::string communicator; ///< for Queue
};

/// "rank 0: 0SEND_F1 waits for 1RECV_F1; rank 1: …"
[[nodiscard]] Sentence cycleText(const std::vector<WaitStep>& cycle);

/// The result of checking whether a lowered schedule can hang. Regardless of timing, a schedule either always hangs or
/// never hangs: see LoweredGraph.
struct HangVerdict {
    std::vector<WaitStep> cycle; ///< shortest cycle of blocked calls; empty if the schedule cannot hang
    std::int64_t from_bytes = 0; ///< smallest payload that causes a hang; 0 = any size
    [[nodiscard]] bool hangs() const { return !cycle.empty(); }
};

/// Linear in the number of actions, apart from the search for the shortest cycle of blocked
/// calls.
[[nodiscard]] HangVerdict hangVerdict(const LoweredSchedule& lowered, const QueueModel& queues);

/// A receive that has the same position within its communicator as another transfer's send. NCCL pairs them by order,
/// so the receive would get the wrong data.
struct WrongPairing {
    Rank rank;
    std::size_t action = 0; ///< index of the receive
    std::string receive;
    std::string send; ///< the send that NCCL pairs it with
    Rank from;
};

/// The first wrong pairing for each ordered pair of ranks and communicator. Empty if transfers have tags, or if
/// hangVerdict() finds no hang, because two transfers in opposite orders would cause one. Linear in actions.
[[nodiscard]] std::vector<WrongPairing> wrongPairings(const LoweredSchedule& lowered,
                                                      const Communicators& communicators);

} // namespace bubblescope
