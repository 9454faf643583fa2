#pragma once

#include "core/base/time.h"
#include "core/graph/hang.h"
#include "core/trace/trace.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// The end of a recording of a job that made no progress when it was stopped.
struct Standstill {
    struct StandingRank {
        Rank rank;
        std::vector<std::string> last; ///< its latest actions of the step, oldest first
        std::string waits_in;          ///< the send or receive that it was in; empty if it was in none
        TimeNs waited{0};
    };
    std::vector<StandingRank> ranks; ///< by rank
    /// Which call waits for which, around a cycle if there is one; otherwise from a waiting rank to the one that is in
    /// no transfer or whose actions are unknown.
    std::vector<WaitStep> waits;
    bool is_cycle = false;

    [[nodiscard]] bool stands() const { return !waits.empty(); }
};

/// Compares the transfers that ranks were in at the end of a trace with those that the other ranks had posted by then.
/// Knows actions by PyTorch's names, such as 2RECV_F0, which recorded jobs of all frameworks have. Linear in slices.
[[nodiscard]] Standstill standstillOf(const Trace& trace);

} // namespace bubblescope
