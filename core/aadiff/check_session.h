#pragma once

#include "core/aadiff/bubble_forecast.h"
#include "core/aadiff/coverage.h"
#include "core/aadiff/plan.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {

/// One layer of one op in the current step: the smallest unit that a check covers.
struct LayerOp {
    Op op;
    int layer = 0; ///< in its stage

    friend auto operator<=>(const LayerOp&, const LayerOp&) = default;
};

/// A check to perform now, with its expected cost and the free time available.
struct CheckTask {
    LayerOp what;
    TimeNs cost{0};
    TimeNs free{0};
};

struct CheckSessionCounts {
    std::int64_t planned = 0;
    CheckCounts checks; ///< finished checks by tensor; one check may compare several tensors
    int units = 0;
    int covered = 0;
};

/// The results of one step.
struct CheckedStep {
    int number = 0;
    std::vector<TimelineOp> ops;
    std::vector<CheckRecord> checks;
    std::vector<DigestRecord> digests; ///< digests of first executions; empty unless they are recorded
};

/// Schedules the checks of one pipeline rank, whose ops the caller executes and reports: chooses which ops to
/// re-execute in bubbles, compares digests, and determines verdicts.
///
/// The plan equals that of `aadiff plan` for the executed ops, and no op is delayed. A check is requested in any bubble
/// after its op, if the time left in the bubble is sufficient; the least recently requested units come first. The time
/// left is forecast from recent steps (BubbleForecast), or taken from the plan until enough steps have run. Use from
/// one thread at a time; the caller supplies all times.
class CheckSession {
public:
    struct Config {
        Schedule schedule;
        CheckPlace place;
        int replicas = 1;
        int tensor_ranks = 1;
        std::vector<int> layers;          ///< number of layers in each chunk of the rank
        bool layers_of_model = true;      ///< layer numbers in records count across the model, not per stage
        std::vector<OpKind> kinds;        ///< kinds of op that can be re-executed; empty = all
        std::vector<std::int64_t> kept;   ///< input size in bytes of one op, per chunk; empty = unknown
        std::optional<std::int64_t> room; ///< memory for inputs kept beyond the activations' lifetime; none = no limit
        bool forward_again = false;       ///< re-executing a backward starts with re-executing its forward
        std::optional<OpTimes> times;     ///< none = measure op times in the first steps, which then run no checks
        double margin = 0.1;
        TimeNs latency{0};
        bool records_digests = true; ///< record digests of first executions
    };

    /// Error: Usage, if the configuration is invalid.
    [[nodiscard]] static Result<CheckSession> make(Config config);

    /// Excludes a layer whose ops of these kinds cannot be re-executed; call before a plan exists. Error: Usage.
    [[nodiscard]] Status leaveOut(Chunk chunk, int layer, std::span<const OpKind> kinds);

    // The functions below return Usage errors if they are called out of order or for a layer that does not exist.

    [[nodiscard]] Status beginStep(int step);
    /// Reports an op that has finished. After an op that violates the schedule's order, no more checks run in the step.
    [[nodiscard]] Status ran(const Op& op, TimeNs start, TimeNs end);
    /// Ends the step. Planned checks that were not requested are skipped.
    [[nodiscard]] Result<CheckedStep> endStep();
    [[nodiscard]] bool inStep() const { return in_step_; }

    /// True if a check of the layer is planned in this step and has not finished.
    [[nodiscard]] Result<bool> wanted(const LayerOp& what) const;
    /// The checks planned in this step, with the least recently requested units first.
    [[nodiscard]] std::vector<LayerOp> planned() const;
    /// Cancels a check of this step, as if it had not been planned.
    [[nodiscard]] Status withdraw(const LayerOp& what);
    /// Checks the same unit with another micro-batch, for example because no bubble that the caller can use follows the
    /// planned one.
    [[nodiscard]] Status move(const LayerOp& what, Microbatch to);
    /// Reports the digest of a tensor of the layer's first execution. A later digest of the same tensor replaces an
    /// earlier one.
    [[nodiscard]] Status computed(const LayerOp& what, std::string_view tensor, std::uint64_t digest, TimeNs now);

    /// Returns the first check of planned() that is pending and fits into the current bubble. `free` is the remaining
    /// length of the bubble at `now`, if known to the caller.
    [[nodiscard]] Result<std::optional<CheckTask>> ask(TimeNs now, std::optional<TimeNs> free);
    /// Reports the digest of a re-executed tensor; call it for each tensor of the first execution.
    [[nodiscard]] Result<CheckOutcome> checked(const LayerOp& what, std::string_view tensor, std::uint64_t digest,
                                               TimeNs start, TimeNs end);
    /// Reports that a requested check was started but abandoned.
    [[nodiscard]] Status givenUp(const LayerOp& what, TimeNs start, TimeNs end);

    /// Reports where the two executions of the latest mismatch differ.
    [[nodiscard]] Status setDifference(const TensorDifference& difference);
    /// Reports the digests computed by repeating the op of the latest mismatch (see verdictOf()).
    [[nodiscard]] Result<Verdict> repeated(std::span<const std::uint64_t> here, std::span<const std::uint64_t> there);

    [[nodiscard]] const CheckSessionCounts& counts() const { return counts_; }
    [[nodiscard]] const Schedule& schedule() const { return config_.schedule; }
    [[nodiscard]] const CheckPlace& place() const { return config_.place; }
    [[nodiscard]] Stage stageOf(Chunk chunk) const { return schedule().stageOf(place().rank, chunk); }

private:
    enum class State : std::uint8_t { Waiting, Asked, Over };
    using Unit = std::tuple<Chunk, OpKind, int>; ///< the last is the layer
    struct StepCheck {
        LayerOp what;
        State state = State::Waiting;
    };

    explicit CheckSession(Config config) : config_(std::move(config)) {}

    [[nodiscard]] Status makePlan(const OpTimes& times);
    [[nodiscard]] Status makePlanOfMeasured();
    [[nodiscard]] Status known(const LayerOp& what) const;
    [[nodiscard]] const std::vector<Op>& order() const { return schedule().ranks[place().rank.index()]; }
    [[nodiscard]] int layersOf(Chunk chunk) const;
    /// Layer number used in records.
    [[nodiscard]] int layerOf(const LayerOp& what) const;
    [[nodiscard]] CheckRecord recordOf(const LayerOp& what, CheckOutcome outcome, TimeNs start, TimeNs end) const;
    void planStep();
    /// True if every kind of op of the layer is excluded from re-execution.
    [[nodiscard]] bool isLeftOut(Stage stage, int layer) const;
    void learnTimes();
    /// Expected length of the bubble before op `next`.
    [[nodiscard]] TimeNs predicted(std::size_t next) const;
    [[nodiscard]] TimeNs costOf(const LayerOp& what) const;
    [[nodiscard]] static Unit unitOf(const LayerOp& what) { return {what.op.chunk, what.op.kind, what.layer}; }
    [[nodiscard]] bool hasFirst(const LayerOp& what) const;
    [[nodiscard]] StepCheck* find(const LayerOp& what);
    /// Index of the step's check of `what`, which must not have been requested yet.
    [[nodiscard]] Result<std::size_t> pending(const LayerOp& what) const;
    void cover(const LayerOp& what);
    void skipRest();

    Config config_;
    std::optional<RankPlan> plan_; ///< empty until op times are known
    CheckSessionCounts counts_;
    std::map<Unit, bool> covered_;
    std::map<Unit, std::int64_t> turns_; ///< number of the latest request, for each unit that was requested
    std::int64_t turn_ = 0;
    std::set<std::tuple<Stage, int, OpKind>> left_out_;
    std::map<std::tuple<Chunk, OpKind>, std::deque<TimeNs>> costs_; ///< durations of the latest single-layer checks
    std::map<std::tuple<Chunk, OpKind>, int> unfit_;                ///< number of steps since the latest check
    BubbleForecast bubbles_;                                        ///< indexed by the op after the bubble
    int steps_in_order_ = 0;
    std::map<OpKind, std::vector<TimeNs>> op_times_;
    std::int64_t steps_planned_ = 0;

    // State of the current step.
    bool in_step_ = false;
    bool in_order_ = true;
    CheckedStep step_;
    std::vector<StepCheck> checks_;
    std::map<std::pair<LayerOp, std::string>, std::uint64_t> first_;
    std::optional<std::size_t> mismatch_; ///< index of the latest mismatch among the step's checks
    TimeNs last_end_{0};
};

} // namespace bubblescope
