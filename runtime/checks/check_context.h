#pragma once

#include "core/aadiff/check_budget.h"
#include "core/aadiff/measured_plan.h"
#include "runtime/checks/check_setup.h"
#include "runtime/checks/layer_result.h"
#include "runtime/engine/rank_hook.h"
#include "runtime/model/stage_model.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope::profiler {
struct SliceRecord;
}

namespace bubblescope::runtime {

/// A part of a layer that was captured for a second execution, and its first result.
struct CapturedLayer {
    LayerRun run;
    Stage stage;
    LayerPart part = LayerPart::Forward;
    std::shared_ptr<ReexecutableLayer> computation;
    LayerResult first;
};

/// State shared by the parts of one rank's checks: the rank, the current step, and the output of results. For the
/// rank's thread.
class CheckContext {
public:
    /// Upper limit for the time of a known-answer check, or of a check of a layer's weights.
    static constexpr TimeNs kSmallCheck{200'000};
    static constexpr Op kOptimizer{OpKind::Optimizer, Microbatch{0}, Chunk{0}};

    CheckContext(CheckSetup& run_setup, const RankContext& of)
        : setup(run_setup), rank(of), executions(of.faults), digest_cost(run_setup.shareOfOne()),
          repeat_cost(run_setup.shareOfOne()), checked_steps(run_setup.chooses_steps ? run_setup.options.cost : 1) {}

    CheckSetup& setup;
    const RankContext rank;
    LayerExecutions executions;
    RankQueue* device = nullptr; ///< null = the rank computes on the host
    std::vector<std::pair<Stage, StageModel*>> stages;

    // The current step:
    int step = 0;
    TimeNs step_begin{0};
    bool emulated = true;  ///< see IdleClock::emulates()
    CheckCost digest_cost; ///< cost of digests of computed and sent tensors
    CheckCost repeat_cost; ///< cost of copies kept for repetitions
    CheckedSteps checked_steps;
    /// Replaces the study's plan; see CheckSetup::measured. May be null.
    const MeasuredPlan* measured = nullptr;

    /// True if the current step is checked.
    [[nodiscard]] bool active() const { return step % setup.options.every == 0 && checked_steps.done(); }
    /// True if digests are computed in the current step.
    [[nodiscard]] bool digests() const { return active() && (measured == nullptr || digest_cost.done()); }
    [[nodiscard]] const RankPlan& plan() const {
        return measured != nullptr ? measured->plan() : setup.study.plan().ranks[rank.place.rank.index()];
    }
    [[nodiscard]] const std::vector<TimelineOp>& timeline() const {
        if (measured != nullptr) return measured->timeline();
        return setup.study.timeline().ranks[rank.place.rank.index()];
    }
    [[nodiscard]] Stage stageOf(Chunk chunk) const { return rank.schedule.stageOf(rank.place.rank, chunk); }

    /// Does work that lengthens an op, and adds the time of that work to `cost`.
    template <class Work>
    void timed(CheckCost& cost, const Work& work) {
        const auto began = std::chrono::steady_clock::now();
        work();
        cost.spend(std::chrono::steady_clock::now() - began);
    }

    /// On a device: a digest to be computed by queueOpDigests(), together with those of the op's other tensors.
    void digestWithOp(const ShownTensor& shown) {
        if (shown.late) op_digests_.push_back(shown);
    }
    void queueOpDigests() { queueDigests(std::exchange(op_digests_, {})); }

    /// Executes a part of a layer immediately, with the rank's faults injected. `again` counts repetitions.
    [[nodiscard]] LayerResult execute(const ReexecutableLayer& computation, const LayerRun& run, int again);

    /// Returns a record for the current step and this rank.
    [[nodiscard]] CheckRecord recordOf(CheckKind kind, const Op& op, int layer, CheckedTensor tensor) const;
    /// Writes a record into the rank's trace.
    void write(const CheckRecord& record, CheckedTensor tensor, Stage stage) const;
    void write(const profiler::SliceRecord& record) const;
    /// Announces a mismatch on any rank of the run: writes it into that rank's trace, and calls
    /// AadiffOptions::on_mismatch.
    void announce(CheckRecord record, Rank world) const;
    /// Announces a mismatch, and throws an exception if a mismatch ends the run.
    void report(const CheckRecord& record, Rank world) const;

    /// Calls `then` with the time of a check of this op as soon as the op's digests are known: on the host immediately,
    /// with `now`; on a device in settle(), after `queue` of all checks.
    void whenKnown(const Op& op, TimeNs now, std::function<void(TimeNs)> then, std::function<void()> queue = {});
    /// Called when the rank's device has finished these ops.
    void settle(std::span<const DoneOp> done);

private:
    struct Deferred {
        Op op;
        std::function<void(TimeNs)> then;
        std::function<void()> queue; ///< may be empty
    };
    std::vector<Deferred> deferred_;
    LayerResult op_digests_;
};

/// The time that a rank needs to repeat a part of a layer: the nominal time if ops are paced, otherwise an average of
/// measured times. For the rank's thread.
class ReexecutionCosts {
public:
    /// `context` must outlive the object.
    explicit ReexecutionCosts(const CheckContext& context) : context_(context) {}

    /// `nominal` is the layer's share of its op's nominal time. If the cost is unknown, returns a time that exceeds
    /// every slot.
    [[nodiscard]] TimeNs of(const CapturedLayer& layer, TimeNs nominal) const;
    /// The measured time of all parts of a layer's op, or of another layer of the same kind; nothing before the first
    /// measurement.
    [[nodiscard]] std::optional<TimeNs> measured(OpKind kind, int layer) const;
    /// Records a measured time. Do not call this if executions take nominal times.
    void note(const CapturedLayer& layer, TimeNs took);
    /// Layers of one kind have the same cost: 0 = embedding, 1 = block, 2 = head.
    [[nodiscard]] int kindOf(int layer) const { return layer == 0 ? 0 : layer == context_.setup.headLayer() ? 2 : 1; }

private:
    /// The time of the same part of this layer, or of another layer of the same kind.
    [[nodiscard]] std::optional<TimeNs> usual(OpKind kind, LayerPart part, int layer) const;

    const CheckContext& context_;
    std::map<std::tuple<OpKind, LayerPart, int>, TimeNs> usual_; ///< time by op, part and kind of layer
};

} // namespace bubblescope::runtime
