#pragma once

#include "core/base/time.h"
#include "core/graph/step_replay.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope {

/// How well the replay foretells steps that it was not given: the one figure for its error.
///
/// A replay that keeps what it cannot explain is as long as the step by construction, which says nothing. Each step is
/// therefore replayed with its own ops, order, recorded transfers and replayed work, and with starts as late as the
/// others show, by rank and kind of op. Transfers that no trace records are the others', too, by link and payload.
struct ReplayCheck {
    struct Step {
        int index = 0;
        int replica = 0; ///< as the trace numbers them
        TimeNs observed{0};
        TimeNs replayed{0};        ///< on its own op times and recorded transfers
        TimeNs foretold{0};        ///< with the ops' times and transfers of the others as well
        std::vector<TimeNs> ranks; ///< per rank: how much later than observed the replay ends its last op

        [[nodiscard]] TimeNs off() const { return replayed - observed; }
    };
    std::vector<Step> steps;
    /// False where there is one step only: delays are then its own, in the mean, without those that no record explains.
    bool from_others = false;
    // Of the observed time of all ranks, what passes in delays:
    double unrecorded = 0; ///< that no record explains
    double in_transfers =
        0; ///< in which a transfer of the rank was under way, which does not say how long it had to be
    std::int64_t transfers = 0;           ///< between ranks
    std::int64_t estimated_transfers = 0; ///< of these, those that the trace does not record (StepGraph)

    [[nodiscard]] double error() const;              ///< mean of |replayed − observed| over the mean observed
    [[nodiscard]] double foresight() const;          ///< the same of `foretold`
    [[nodiscard]] double worst() const;              ///< the largest of |replayed − observed| / observed
    [[nodiscard]] std::vector<TimeNs> ranks() const; ///< per rank: mean of |Step::ranks|
};

/// Steps are checked up to this number, evenly chosen.
inline constexpr std::size_t kMostChecked = 64;

/// A step of a run as the accounting reads it.
struct CheckedStep {
    const StepTimeline* step = nullptr;
    const ObservedStep* observed = nullptr;
};

/// All steps have the same p and v. Linear in ops, and in the square of the number of steps.
[[nodiscard]] ReplayCheck checkReplay(std::span<const CheckedStep> steps);

} // namespace bubblescope
