#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "core/theory/closed_form.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace bubblescope {

/// A bubble in which checks can run.
struct Slot {
    Rank rank;
    Position position = Position::BeforeWarmup;
    TimeNs start{0}; ///< relative to the step's start
    TimeNs end{0};
    std::size_t next_op =
        0; ///< index, in the rank's order, of the op that must not be delayed; the number of ops if none follows

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

/// The slots of all ranks; those of each rank are sorted by start.
using Slots = std::vector<std::vector<Slot>>;

/// The bubbles of one step, simulated or consolidated.
[[nodiscard]] Slots slotsOf(const StepTimeline& step);
/// Idle time between the same ops in the last steps of a run: each bubble is placed as in the last step and has its
/// shortest length in any of the steps. Ignores steps whose order of ops differs from that of the last step.
[[nodiscard]] Slots shortestSlotsOf(std::span<const StepTimeline> steps);

/// Bubble lengths of the closed form, as multiples of each op time: in 1F1B, the multiples on rank s are s, p−s−1,
/// p−s−1 and s. Determined by lengthening each kind of op by a nanosecond: the form (p−s−1)·t_b, for example, yields
/// p−s−1. In schedules that split the backward, each half counts as one op.
struct SlotCounts {
    std::vector<PerPosition<int>> ranks;
    [[nodiscard]] int total(Rank rank) const;
};

/// Empty if the schedule has no exact form at some position, or if its stages differ.
[[nodiscard]] std::optional<SlotCounts> slotCounts(const Schedule& schedule, const CostModel& costs);

/// The unit of coverage: one kind of op of one layer of one chunk. A check of any micro-batch covers the unit, since
/// all micro-batches run the same code on the same hardware. Layers of a chunk are numbered from its input.
struct CheckUnit {
    Rank rank;
    Chunk chunk;
    OpKind kind = OpKind::Forward;
    int layer = 0;
    TimeNs cost{0}; ///< time to re-execute the unit, including computing the digest
};

/// Constraints for planning checks.
struct PlanLimits {
    /// Number of layers in each stage; empty = chunks are checked as a whole. A chunk's time is divided equally among
    /// its layers; nothing is checked in a chunk without layers.
    std::vector<int> layers;
    /// Known times of single layers, by stage, kind of op and index in the stage; used instead of an equal share.
    std::map<std::tuple<Stage, OpKind, int>, TimeNs> layer_times;
    /// The kinds of ops that can be re-executed. Empty = all.
    std::vector<OpKind> kinds;
    /// Layers that cannot be re-executed, by stage and index in the stage.
    std::set<std::pair<Stage, int>> left_out;
    double margin = 0.1; ///< fraction of its cost by which a check may overrun without delaying an op
    TimeNs latency{0};   ///< per check, time from the decision to the start of the re-execution
    /// If an op's inputs would be freed before its check, they are kept until the check. Size in bytes of the inputs of
    /// one op (all layers), per stage; the next field is the memory available for them on each rank. Empty = no limit.
    std::vector<std::int64_t> kept_bytes;
    std::vector<std::int64_t> spare_bytes;
    int max_steps = 10'000; ///< maximum number of steps in which to reach full coverage
};

/// Free time needed by a check of this cost: its latency plus its cost including the margin.
[[nodiscard]] TimeNs timeNeeded(TimeNs cost, double margin, TimeNs latency = TimeNs{0});

struct PlannedCheck {
    std::size_t slot = 0; ///< index among its rank's slots
    std::size_t unit = 0; ///< index among its rank's units
    Microbatch microbatch;
    TimeNs start{0};
    TimeNs end{0};      ///< including the margin
    bool kept = false;  ///< true if the inputs must be kept for the check, because they would otherwise be freed
    std::size_t op = 0; ///< index, in the rank's order, of the op to re-execute
};

struct RankPlan {
    std::vector<Slot> slots;
    std::vector<CheckUnit> units;
    std::vector<std::vector<PlannedCheck>> steps; ///< until all coverable units are covered; checks sorted by start
    std::vector<std::size_t> never;               ///< units that do not fit into any slot while their inputs exist
    /// Idle time, usable by known-answer tests, in slots before the rank's first op.
    TimeNs before_first{0};
    std::int64_t peak_kept_bytes = 0;

    [[nodiscard]] TimeNs idle() const;
    /// Checks of step number `step` if the plan is repeated.
    [[nodiscard]] std::span<const PlannedCheck> checksOf(std::int64_t step) const;
    /// Mean time of checks over the planned steps, excluding margins.
    [[nodiscard]] TimeNs checkedPerStep() const;
    /// Steps until full coverage; empty if some units are never covered.
    [[nodiscard]] std::optional<int> stepsToFull() const;
};

struct AadiffPlan {
    std::vector<RankPlan> ranks;

    /// Steps until full coverage on the slowest rank; empty if some units are never covered.
    [[nodiscard]] std::optional<int> stepsToFull() const;
    [[nodiscard]] TimeNs checkedPerStep() const; ///< over all ranks
};

/// Chooses which ops to re-execute in which slots, without making any op wait: a check is placed only if it ends,
/// including its margin, before the end of the slot. Units whose last check is oldest come first. A step re-executes
/// the same layer of the same op at most once, but may check the same unit again with another micro-batch.
///
/// Checking a forward needs no extra memory while its activations exist, that is, until its backward. After that, and
/// for backwards (B, I, W) that have run, the inputs must be kept. Weights change at the end of the step, so ops of the
/// previous step cannot be re-executed; slots before a rank's first op are reserved for known-answer tests.
///
/// `step` must be the timeline that contains `slots`, with its ops in the order of the schedule.
[[nodiscard]] AadiffPlan planChecks(Slots slots, const StepTimeline& step, const CostModel& costs,
                                    const PlanLimits& limits);

/// Plans further steps for a rank that has run checks before. `last_checks` contains the number of the last check of
/// each unit, 0 if there was none. The plan has `limits.max_steps` steps if at least one unit fits.
[[nodiscard]] RankPlan planMoreChecks(std::vector<Slot> slots, const StepTimeline& step, Rank rank,
                                      const CostModel& costs, const PlanLimits& limits,
                                      std::vector<std::int64_t> last_checks);

/// Checks that fit into a schedule's bubbles, both with the ops as they run and with ops moved within their slack.
struct AadiffStudy {
    StepTimeline executed;
    StepTimeline retimed; ///< ops delayed within their slack, so that idle time is contiguous (consolidate.h)
    AadiffPlan as_executed;
    AadiffPlan with_slack;
    std::optional<SlotCounts> counts; ///< of the closed form

    /// True if moving ops helps: full coverage is reached sooner, or more is checked per step.
    [[nodiscard]] bool retiming() const;
    [[nodiscard]] const AadiffPlan& plan() const { return retiming() ? with_slack : as_executed; }
    [[nodiscard]] const StepTimeline& timeline() const { return retiming() ? retimed : executed; }
    /// Fractions of the units that `plan` covers, and of a step's compute time that it re-executes.
    [[nodiscard]] static double coverableFraction(const AadiffPlan& plan);
    [[nodiscard]] double checkedFraction(const AadiffPlan& plan) const;
};

/// Errors: those of simulate(); Usage if `limits` do not cover every stage and rank.
[[nodiscard]] Result<AadiffStudy> studyAadiff(const Schedule& schedule, const CostModel& costs,
                                              const PlanLimits& limits);

} // namespace bubblescope
