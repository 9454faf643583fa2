#pragma once

#include "core/base/time.h"
#include "core/graph/hang.h"
#include "core/trace/trace.h"

#include <string>
#include <vector>

namespace bubblescope {

/// The final state of a recorded job that was stopped because it made no progress.
struct Standstill {
    struct StandingRank {
        Rank rank;
        std::vector<std::string> last; ///< the rank's latest actions in the step, oldest first
        std::string waits_in;          ///< the rank's blocked send or receive; empty if there is none
        TimeNs waited{0};
    };
    std::vector<StandingRank> ranks; ///< by rank
    /// The chain of waiting calls: a cycle if there is one, otherwise from a waiting rank to a rank that is not in a
    /// transfer or whose actions are unknown.
    std::vector<WaitStep> waits;
    bool is_cycle = false;

    [[nodiscard]] bool stands() const { return !waits.empty(); }
};

/// Compares the transfers in progress at the end of a trace with those that other ranks had posted by then. Recognises
/// actions by PyTorch's names, such as 2RECV_F0, which recorded jobs of all frameworks use. Linear in slices.
[[nodiscard]] Standstill standstillOf(const Trace& trace);

} // namespace bubblescope
