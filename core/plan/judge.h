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
    TransformerShape shape; ///< its micro-batch, tp and recomputation are those of a layout
    Cluster cluster;
    int global_batch = 1; ///< sequences of a step
};

/// Where the step of the busiest rank goes; the parts add up to the step.
struct StepParts {
    Seconds work;
    double bubble = 0; ///< pipeline bubble, transfers included
    StepEnd end;

    [[nodiscard]] double all() const { return work.all() + bubble + end.all(); }
};

/// A layout with its step.
struct Plan {
    Layout layout;
    TimeNs step{0};
    bool exact = false; ///< the pipeline's time is a closed form; else simulated
    StepParts parts;
    double bubble_rate = 0; ///< idle over the pipeline's time, all ranks
    double mfu = 0;         ///< the model's FLOPs, causal attention, over the cluster's peak
    double tokens_per_second = 0;
    RankMemory memory; ///< of the rank that needs most
    int memory_rank = 0;
};

/// What a layout's pipeline is made of.
struct Pipeline {
    std::vector<OpSeconds> stages; ///< one micro-batch, by stage
    std::vector<OpTimes> times;    ///< the same as op times
    std::vector<StepEnd> ends;     ///< by rank
    TimeNs transfer{0};
    Placement placement = Placement::Loop;
    std::vector<int> layers; ///< by rank
};

/// Orders that were generated, for layouts that share them. Thread-safe.
class OrderStore;

/// Judges layouts of one problem. Thread-safe.
class Judge {
public:
    explicit Judge(Problem problem);
    ~Judge();
    Judge(const Judge&) = delete;
    Judge& operator=(const Judge&) = delete;

    /// Errors: Usage, when the model cannot be divided this way.
    [[nodiscard]] Result<Pipeline> pipeline(const Layout& layout) const;
    [[nodiscard]] Result<MemoryModel> memory(const Layout& layout, Placement placement) const;

    /// No order of ops on this pipeline has a shorter step: the busiest rank's work, the way of the first micro-batch
    /// to it, the way of the last gradient from it where backwards are whole, and the step's end.
    [[nodiscard]] double bound(const Pipeline& pipeline, const Layout& layout) const;
    /// Every order needs this much on some rank: the states, and the activations of one micro-batch.
    [[nodiscard]] std::int64_t memoryBound(const MemoryModel& memory, const Layout& layout, Placement placement) const;

    /// Errors: Usage, where the family has no such order.
    [[nodiscard]] Result<Plan> judge(const Layout& layout) const;

    /// What a step would take at the peak of all devices.
    [[nodiscard]] double peakSeconds() const;
    [[nodiscard]] const Problem& problem() const { return problem_; }
    /// Bytes that a rank may hold.
    [[nodiscard]] std::int64_t budget() const { return problem_.cluster.budget(); }

private:
    [[nodiscard]] Result<std::shared_ptr<const Schedule>> order(const Layout& layout) const;

    Problem problem_;
    double step_flops_;
    std::unique_ptr<OrderStore> orders_;
};

} // namespace bubblescope::plan
