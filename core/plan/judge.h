#pragma once

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/cost/cost_model.h"
#include "core/cost/memory_model.h"
#include "core/plan/layout.h"
#include "core/plan/machine.h"
#include "core/plan/op_seconds.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace bubblescope::plan {

/// A model to train on a cluster.
struct Problem {
    TransformerShape shape; ///< its micro-batch, tp and recomputation come from the layout
    Cluster cluster;
    int global_batch = 1; ///< sequences per step
};

/// The busiest rank's step time by purpose; the parts add up to the step.
struct StepParts {
    Seconds work;
    double bubble = 0; ///< pipeline bubble, transfers included
    StepEnd end;

    [[nodiscard]] double all() const { return work.all() + bubble + end.all(); }
};

/// A layout with its estimated step.
struct Plan {
    Layout layout;
    TimeNs step{0};
    bool exact = false; ///< true if the pipeline's time is a closed form, false if it was simulated
    StepParts parts;
    double bubble_rate = 0; ///< idle fraction of the pipeline's time, over all ranks
    double mfu = 0;         ///< the model's FLOPs (with causal attention) as a fraction of the cluster's peak
    double tokens_per_second = 0;
    RankMemory memory; ///< memory of the rank that needs the most
    int memory_rank = 0;
};

/// The times of a layout's pipeline.
struct Pipeline {
    std::vector<OpSeconds> stages; ///< for one micro-batch, by stage
    std::vector<OpTimes> times;    ///< `stages` as op times
    std::vector<StepEnd> ends;     ///< by rank
    TimeNs transfer{0};
    Placement placement = Placement::Loop;
    std::vector<int> layers; ///< by rank
};

/// Generated orders, for layouts that use the same one. Thread-safe.
class OrderStore;

/// Estimates step time and memory of layouts of one problem. Thread-safe.
class Judge {
public:
    explicit Judge(Problem problem);
    ~Judge();
    Judge(const Judge&) = delete;
    Judge& operator=(const Judge&) = delete;

    /// Errors: Usage if the model cannot be divided this way.
    [[nodiscard]] Result<Pipeline> pipeline(const Layout& layout) const;
    [[nodiscard]] Result<MemoryModel> memory(const Layout& layout, Placement placement) const;

    /// Lower bound of the step time for any order of ops on this pipeline: the busiest rank's work, the path of the
    /// first micro-batch to it, the path of the last gradient from it if backwards are whole, and the end of the step.
    [[nodiscard]] double bound(const Pipeline& pipeline, const Layout& layout) const;
    /// Lower bound of the memory that some rank needs in any order: the states and the activations of one micro-batch.
    [[nodiscard]] std::int64_t memoryBound(const MemoryModel& memory, const Layout& layout, Placement placement) const;

    /// Errors: Usage if the family has no such order.
    [[nodiscard]] Result<Plan> judge(const Layout& layout) const;

    /// The step time if all devices ran at their peak.
    [[nodiscard]] double peakSeconds() const;
    [[nodiscard]] const Problem& problem() const { return problem_; }
    /// Bytes that a rank may use.
    [[nodiscard]] std::int64_t budget() const { return problem_.cluster.budget(); }

private:
    [[nodiscard]] Result<std::shared_ptr<const Schedule>> order(const Layout& layout) const;

    Problem problem_;
    double step_flops_;
    std::unique_ptr<OrderStore> orders_;
};

} // namespace bubblescope::plan
