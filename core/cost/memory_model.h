#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// The memory that one stage takes on its rank, in bytes.
struct StageMemory {
    std::int64_t weights = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0; ///< optimizer state
    /// F allocates `forward` when it starts; I frees `input_grad` and W `weight_grad` when they end, B both. An I that
    /// allocates more than it frees has a negative `input_grad`. Each slice of a split sequence takes its part, see
    /// MemoryModel::slice_tokens.
    ActivationSizes activations{0, 0, 0};
    std::int64_t kept_input = 0;         ///< kept by a forward that is recomputed
    std::int64_t gathered = 0;           ///< additional, while an UNSHARD has gathered the stage's weights
    std::int64_t forward_workspace = 0;  ///< additional, while one of the stage's F runs
    std::int64_t backward_workspace = 0; ///< additional, while one of its B, I or W runs

    [[nodiscard]] std::int64_t fixed() const { return weights + gradients + optimizer; }
};

/// Memory of a schedule's stages in bytes, by global stage. Does not include transfer buffers.
struct MemoryModel {
    std::vector<StageMemory> stages;
    std::vector<double> slice_tokens; ///< share of the sequence per slice; empty: slices of equal length
    std::int64_t other = 0;           ///< per rank, at any time: contexts, buffers, fragmentation
};

/// One rank's memory over a step.
struct RankMemory {
    std::int64_t weights = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0;
    std::int64_t other = 0;
    std::int64_t peak_activations = 0;      ///< including the workspace of the running op
    std::size_t peak_op = 0;                ///< index of the first op at the peak, in the rank's list
    std::optional<std::size_t> over_budget; ///< index of the first op during which the rank exceeds the budget

    [[nodiscard]] std::int64_t fixed() const { return weights + gradients + optimizer + other; }
    [[nodiscard]] std::int64_t peak() const { return fixed() + peak_activations; }
};

/// One entry per rank. `model` must cover every stage of the schedule. A rank runs its ops one after another, so the
/// peak depends only on its order, not on times. O(ops).
[[nodiscard]] std::vector<RankMemory> memoryUse(const Schedule& schedule, const MemoryModel& model,
                                                std::optional<std::int64_t> budget = {});

/// A rank's memory outside activations; its peak is 0.
[[nodiscard]] RankMemory fixedMemory(const MemoryModel& model, Placement placement, int pp, Rank rank);

/// Pieces of equal size that a rank holds.
struct HeldPieces {
    std::int64_t bytes = 0; ///< of each
    int count = 0;
    friend bool operator==(const HeldPieces&, const HeldPieces&) = default;
};

/// The activations that a rank holds while it runs the op at this index of its list, or the overlapped pair that begins
/// there; the largest pieces first. The workspace is not included.
[[nodiscard]] std::vector<HeldPieces> heldDuring(const Schedule& schedule, const MemoryModel& model, Rank rank,
                                                 std::size_t op);

/// A rank's peak as its device reported it.
struct MeasuredPeak {
    Rank rank;
    std::int64_t bytes = 0;
};

/// Fits a model to measured peaks, by least squares: scales what ops allocate, and sets `other`. Errors: Usage if the
/// peaks do not determine both, or contradict the model.
[[nodiscard]] Result<MemoryModel> fittedTo(const std::vector<MeasuredPeak>& peaks, const Schedule& schedule,
                                           MemoryModel model);

/// Memory use from one point in time until the next.
struct MemoryPoint {
    TimeNs time{0};
    std::int64_t bytes = 0;
};

/// A rank's memory over the course of a step, including weights, gradients and optimizer state; the first point is at
/// the start of the step. An op of zero duration gives two points at one time. The maximum is RankMemory::peak().
[[nodiscard]] std::vector<MemoryPoint> memoryCurve(const StepTimeline& step, Rank rank, const MemoryModel& model);

} // namespace bubblescope
