#pragma once

#include "core/base/time.h"
#include "core/graph/step_replay.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope {

/// The accuracy of the replay for steps to which it was not fitted. This is the only estimate of the replay's error.
///
/// By construction, a replay that keeps all unexplained time is as long as the step, so its length proves nothing. Each
/// step is therefore replayed with the observed ops, order, recorded transfers and re-executed work. Delays before ops
/// (by rank and kind of op) and unrecorded transfers (by link and payload) are taken from the other
/// steps.
struct ReplayCheck {
    struct Step {
        int index = 0;
        int replica = 0; ///< replica number in the trace
        TimeNs observed{0};
        TimeNs replayed{0};        ///< replayed time with the step's op times and recorded transfers
        TimeNs foretold{0};        ///< replayed time with op times and transfers taken from the other steps
        std::vector<TimeNs> ranks; ///< per rank: end of the last op in the replay minus the observed end

        [[nodiscard]] TimeNs off() const { return replayed - observed; }
    };
    std::vector<Step> steps;
    /// False if there is only one step. Delays are then that step's means, and unexplained delays are omitted.
    bool from_others = false;
    // Delays as fractions of the observed time of all ranks:
    double unrecorded = 0; ///< not explained by any record
    /// While one of the rank's transfers was in progress; how long the transfer itself took is unknown.
    double in_transfers = 0;
    std::int64_t transfers = 0;           ///< between ranks
    std::int64_t estimated_transfers = 0; ///< number of transfers that the trace does not contain (StepGraph)

    [[nodiscard]] double error() const;              ///< mean |replayed − observed| / mean observed time
    [[nodiscard]] double foresight() const;          ///< like error(), for `foretold`
    [[nodiscard]] double worst() const;              ///< the largest |replayed − observed| / observed
    [[nodiscard]] std::vector<TimeNs> ranks() const; ///< mean of |Step::ranks| per rank
};

/// Maximum number of steps to check; they are evenly spaced.
inline constexpr std::size_t kMostChecked = 64;

/// A step of a run in the format that the accounting reads.
struct CheckedStep {
    const StepTimeline* step = nullptr;
    const ObservedStep* observed = nullptr;
};

/// All steps must have the same p and v. Linear in the number of ops, quadratic in the number of steps.
[[nodiscard]] ReplayCheck checkReplay(std::span<const CheckedStep> steps);

} // namespace bubblescope
