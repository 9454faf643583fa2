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

/// Memory used by one stage on its rank, in bytes.
struct StageMemory {
    std::int64_t weights = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0; ///< optimizer state
    /// F allocates `forward` at its start; I frees `input_grad`, W frees `weight_grad`, and B frees both, at their end.
    /// If an I allocates more than it frees, `input_grad` is negative. With a split sequence, each slice
    /// allocates its share, see MemoryModel::slice_tokens.
    ActivationSizes activations{0, 0, 0};
    std::int64_t kept_input = 0;         ///< input kept by a forward that will be recomputed
    std::int64_t gathered = 0;           ///< additional bytes while the stage's weights are gathered by an UNSHARD
    std::int64_t forward_workspace = 0;  ///< additional bytes while an F of the stage runs
    std::int64_t backward_workspace = 0; ///< additional bytes while a B, I or W of the stage runs

    [[nodiscard]] std::int64_t fixed() const { return weights + gradients + optimizer; }
};

/// Memory of a schedule's stages in bytes, by global stage. Transfer buffers are not included.
struct MemoryModel {
    std::vector<StageMemory> stages;
    std::vector<double> slice_tokens; ///< share of the sequence in each slice; empty = slices of equal length
    std::int64_t other = 0;           ///< constant bytes per rank: contexts, buffers, fragmentation
};

/// Memory of one rank during a step.
struct RankMemory {
    std::int64_t weights = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0;
    std::int64_t other = 0;
    std::int64_t peak_activations = 0;      ///< activations at the peak, including the workspace of the running op
    std::size_t peak_op = 0;                ///< index of the first op at the peak, in the rank's list
    std::optional<std::size_t> over_budget; ///< index of the first op during which the rank exceeds its budget

    [[nodiscard]] std::int64_t fixed() const { return weights + gradients + optimizer + other; }
    [[nodiscard]] std::int64_t peak() const { return fixed() + peak_activations; }
};

/// Returns one entry per rank. `model` must cover every stage of the schedule. The peak depends only on the order of
/// ops, not on timing, because a rank runs its ops one after another. O(ops).
[[nodiscard]] std::vector<RankMemory> memoryUse(const Schedule& schedule, const MemoryModel& model,
                                                std::optional<std::int64_t> budget = {});

/// Memory of a rank, excluding activations; the peak is left at 0.
[[nodiscard]] RankMemory fixedMemory(const MemoryModel& model, Placement placement, int pp, Rank rank);

/// Tensors of equal size held by a rank.
struct HeldPieces {
    std::int64_t bytes = 0; ///< size of each
    int count = 0;
    friend bool operator==(const HeldPieces&, const HeldPieces&) = default;
};

/// Activations that a rank holds while it runs the op at this index of its list, or the overlapped pair that starts
/// there; largest first. Workspaces are not included.
[[nodiscard]] std::vector<HeldPieces> heldDuring(const Schedule& schedule, const MemoryModel& model, Rank rank,
                                                 std::size_t op);

/// A rank's memory peak as reported by its device.
struct MeasuredPeak {
    Rank rank;
    std::int64_t bytes = 0;
};

/// Fits a model to measured peaks by least squares: scales the memory allocated by ops, and sets `other`. Errors: Usage
/// if the peaks do not determine both parameters, or contradict the model.
[[nodiscard]] Result<MemoryModel> fittedTo(const std::vector<MeasuredPeak>& peaks, const Schedule& schedule,
                                           MemoryModel model);

/// Memory use from one point in time to the next.
struct MemoryPoint {
    TimeNs time{0};
    std::int64_t bytes = 0;
};

/// Memory of a rank over the course of a step, including weights, gradients and optimizer state; the first point is the
/// start of the step. An op of zero duration creates two points at the same time. The maximum is RankMemory::peak().
[[nodiscard]] std::vector<MemoryPoint> memoryCurve(const StepTimeline& step, Rank rank, const MemoryModel& model);

} // namespace bubblescope
