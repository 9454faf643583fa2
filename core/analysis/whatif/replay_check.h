#pragma once

#include "core/base/time.h"
#include "core/graph/step_replay.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope {

/// The accuracy of the replay for steps that it was not given: the only estimate of its error.
///
/// A replay that keeps what it cannot explain is as long as the step by construction, so its length does not test the
/// replay. Each step is therefore replayed with its own ops, order, recorded transfers and re-executed work. The other
/// steps determine how late ops start, by rank and kind of op, and the transfers that no trace records, by link and
/// payload.
struct ReplayCheck {
    struct Step {
        int index = 0;
        int replica = 0; ///< as numbered in the trace
        TimeNs observed{0};
        TimeNs replayed{0};        ///< with its own op times and recorded transfers
        TimeNs foretold{0};        ///< with the op times and transfers of the other steps as well
        std::vector<TimeNs> ranks; ///< per rank: end of its last op in the replay minus its observed end

        [[nodiscard]] TimeNs off() const { return replayed - observed; }
    };
    std::vector<Step> steps;
    /// False if there is only one step: delays are then the means of that step, without unexplained ones.
    bool from_others = false;
    // Fractions of the observed time of all ranks spent in delays:
    double unrecorded = 0; ///< not explained by any record
    double in_transfers =
        0; ///< while the rank has a transfer in progress; the time that the transfer itself needed is unknown
    std::int64_t transfers = 0;           ///< between ranks
    std::int64_t estimated_transfers = 0; ///< those that the trace does not record (StepGraph)

    [[nodiscard]] double error() const;              ///< mean of |replayed − observed| over the mean observed
    [[nodiscard]] double foresight() const;          ///< like error(), for `foretold`
    [[nodiscard]] double worst() const;              ///< the largest |replayed − observed| / observed
    [[nodiscard]] std::vector<TimeNs> ranks() const; ///< per rank: mean of |Step::ranks|
};

/// At most this many steps are checked, evenly spread.
inline constexpr std::size_t kMostChecked = 64;

/// A step of a run in the form that the accounting reads.
struct CheckedStep {
    const StepTimeline* step = nullptr;
    const ObservedStep* observed = nullptr;
};

/// All steps have the same p and v. Linear in ops, and in the square of the number of steps.
[[nodiscard]] ReplayCheck checkReplay(std::span<const CheckedStep> steps);

} // namespace bubblescope
