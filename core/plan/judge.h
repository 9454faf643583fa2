#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/cost/cost_model.h"
#include "core/cost/memory_model.h"
#include "core/plan/layout.h"
#include "core/plan/machine.h"
#include "core/plan/op_seconds.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope::plan {

/// A model to train on a cluster.
struct Problem {
    TransformerShape shape; ///< the layout determines its micro-batch, tp and recomputation
    Cluster cluster;
    int global_batch = 1; ///< sequences per step
};

/// Step time of the busiest rank by purpose; the parts add up to the step time.
struct StepParts {
    Seconds work;
    double bubble = 0; ///< pipeline bubble, including transfers
    StepEnd end;

    [[nodiscard]] double all() const { return work.all() + bubble + end.all(); }
};

/// A layout with its estimated step time and memory.
struct Plan {
    Layout layout;
    TimeNs step{0};
    bool exact = false; ///< true if the pipeline's time is from a closed form, false if it was simulated
    StepParts parts;
    double bubble_rate = 0; ///< idle fraction of the pipeline's time, over all ranks
    double mfu = 0;         ///< FLOPs of the model (with causal attention) as a fraction of the cluster's peak
    double tokens_per_second = 0;
    RankMemory memory; ///< memory of the rank with the highest peak
    int memory_rank = 0;
    Op peak_op;                        ///< op of that rank at the peak, see RankMemory::peak_op
    std::vector<HeldPieces> peak_held; ///< activations at the peak; empty if the plan does not fit
};

/// Times of a layout's pipeline.
struct Pipeline {
    std::vector<OpSeconds> stages; ///< seconds per micro-batch, by stage
    std::vector<OpTimes> times;    ///< `stages` converted to op times
    std::vector<StepEnd> ends;     ///< by rank
    TimeNs transfer{0};
    Placement placement = Placement::Loop;
    std::vector<int> layers;  ///< by rank
    double largest_stage = 0; ///< parameters of the largest stage on a rank
};

/// One step of a layout's pipeline, without the end of the step (see StepEnd).
struct PlanStep {
    std::shared_ptr<const Schedule> schedule;
    StepTimeline timeline;
    MemoryModel memory; ///< `other` includes the memory that plans reserve, so that peaks match the plan's

    /// Memory of each rank over the step, by rank; see memoryCurve().
    [[nodiscard]] std::vector<std::vector<MemoryPoint>> memoryCurves() const;
};

/// Caches generated orders, because several layouts can share one. Thread-safe.
class OrderStore;

/// Estimates the step time and memory of layouts for one problem. Thread-safe.
class Judge {
public:
    explicit Judge(Problem problem);
    ~Judge();
    Judge(const Judge&) = delete;
    Judge& operator=(const Judge&) = delete;

    /// If weights travel (core/plan/travelling.h), the placement is Placement::Moving, and a rank's states are in
    /// MemoryModel::other. Errors: Usage if the model cannot be split as the layout requires.
    [[nodiscard]] Result<Pipeline> pipeline(const Layout& layout) const;
    [[nodiscard]] Result<MemoryModel> memory(const Layout& layout, Placement placement) const;

    /// Lower bound on the step time of any order of ops on this pipeline: the busiest rank's work, the first
    /// micro-batch's path to it, the last gradient's path from it unless backwards are split, and the end of the step.
    [[nodiscard]] double bound(const Pipeline& pipeline, const Layout& layout) const;
    /// Lower bound, for any order, on the highest memory of any rank: model states and one micro-batch's activations.
    [[nodiscard]] std::int64_t memoryBound(const MemoryModel& memory, const Layout& layout, Placement placement) const;

    /// Errors: Usage if the family has no order for this layout.
    [[nodiscard]] Result<Plan> judge(const Layout& layout) const;
    /// Simulates the pipeline. Errors: as judge().
    [[nodiscard]] Result<PlanStep> step(const Layout& layout) const;

    /// Step time if all devices ran at their peak rate.
    [[nodiscard]] double peakSeconds() const;
    [[nodiscard]] const Problem& problem() const { return problem_; }
    /// Memory available to a rank, in bytes.
    [[nodiscard]] std::int64_t budget() const { return problem_.cluster.budget(); }

private:
    [[nodiscard]] Result<std::shared_ptr<const Schedule>> order(const Layout& layout) const;
    /// Simulates the pipeline's order. The step ends when all weight gradients are complete.
    [[nodiscard]] Result<StepTimeline> timeline(const Layout& layout, const Pipeline& pipeline,
                                                const Schedule& schedule) const;

    Problem problem_;
    double step_flops_;
    std::unique_ptr<OrderStore> orders_;
};

} // namespace bubblescope::plan
