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

/// A bubble that can hold checks.
struct Slot {
    Rank rank;
    Position position = Position::BeforeWarmup;
    TimeNs start{0}; ///< relative to the step's start
    TimeNs end{0};
    std::size_t next_op =
        0; ///< index, in the rank's order, of the op that must not be delayed; the number of ops if none follows

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

/// The slots of all ranks, each rank's by start.
using Slots = std::vector<std::vector<Slot>>;

/// The bubbles of one step, simulated or consolidated.
[[nodiscard]] Slots slotsOf(const StepTimeline& step);
/// The idle time between the same ops in the last steps of a run: the shortest length of each bubble, at its place in
/// the last step. Ignores steps whose order differs from that of the last one.
[[nodiscard]] Slots shortestSlotsOf(std::span<const StepTimeline> steps);

/// The closed form's bubble lengths, as multiples of each op time: in 1F1B rank s has s, p−s−1, p−s−1 and s. Found by
/// lengthening each kind of op by a nanosecond: a form such as (p−s−1)·t_b gives p−s−1. In schedules that split the
/// backward, each half counts as one op.
struct SlotCounts {
    std::vector<PerPosition<int>> ranks;
    [[nodiscard]] int total(Rank rank) const;
};

/// Empty if the schedule has no exact form at some position, or if its stages differ.
[[nodiscard]] std::optional<SlotCounts> slotCounts(const Schedule& schedule, const CostModel& costs);

/// The unit of coverage: one kind of op of one layer of one chunk. A check of any micro-batch covers it, since all run
/// the same code on the same hardware. Layers of a chunk count from its input.
struct CheckUnit {
    Rank rank;
    Chunk chunk;
    OpKind kind = OpKind::Forward;
    int layer = 0;
    TimeNs cost{0}; ///< time to re-execute it, including the digest
};

/// Constraints for planning checks.
struct PlanLimits {
    /// Layers of each stage; empty = chunks are checked as a whole. A chunk's time is divided equally among its layers;
    /// a chunk without layers has nothing to check.
    std::vector<int> layers;
    /// Times of single layers, by stage, kind of op and index in the stage; used instead of an equal part where known.
    std::map<std::tuple<Stage, OpKind, int>, TimeNs> layer_times;
    /// The kinds of ops that can be re-executed. Empty = all.
    std::vector<OpKind> kinds;
    /// Layers that cannot be re-executed, by stage and index in the stage.
    std::set<std::pair<Stage, int>> left_out;
    double margin = 0.1; ///< fraction of its cost by which a check may take longer without delaying an op
    TimeNs latency{0};   ///< per check, time from the decision to the start of the work
    /// Inputs of an op that would be freed before its check are kept until then. This is the size in bytes of one op's
    /// inputs per stage (all its layers); the next field is the memory that each rank has for them. Empty = no limit.
    std::vector<std::int64_t> kept_bytes;
    std::vector<std::int64_t> spare_bytes;
    int max_steps = 10'000; ///< plan at most this many steps to reach full coverage
};

/// The free time that a check of this cost needs: its latency plus its cost including the margin.
[[nodiscard]] TimeNs timeNeeded(TimeNs cost, double margin, TimeNs latency = TimeNs{0});

struct PlannedCheck {
    std::size_t slot = 0; ///< index among its rank's slots
    std::size_t unit = 0; ///< index among its rank's units
    Microbatch microbatch;
    TimeNs start{0};
    TimeNs end{0};      ///< including the margin
    bool kept = false;  ///< true if its inputs are kept for it because they would otherwise be freed earlier
    std::size_t op = 0; ///< index, in the rank's order, of the op to re-execute
};

struct RankPlan {
    std::vector<Slot> slots;
    std::vector<CheckUnit> units;
    std::vector<std::vector<PlannedCheck>> steps; ///< until all coverable units are covered; checks sorted by start
    std::vector<std::size_t> never;               ///< units that fit into no slot while their inputs are available
    /// Idle time in slots before the rank's first op, for known-answer tests.
    TimeNs before_first{0};
    std::int64_t peak_kept_bytes = 0;

    [[nodiscard]] TimeNs idle() const;
    /// The checks of a step if the plan is repeated indefinitely.
    [[nodiscard]] std::span<const PlannedCheck> checksOf(std::int64_t step) const;
    /// Mean over the planned steps, without margins.
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

/// Plans which ops to re-execute where, without making any op wait: a check is placed only where it ends, including its
/// margin, before the slot does. Units with the oldest last check come first. Within a step no layer of an op is
/// re-executed twice, but the same unit may be, with another micro-batch.
///
/// Checking a forward needs no memory while its activations exist, up to its backward. After that, and for backwards
/// (B, I, W) once they have run, the inputs must be kept. Weights change at the end of the step, so ops of the previous
/// step cannot be re-executed; slots before a rank's first op are left to known-answer tests.
///
/// `step` is the timeline that contains `slots`, with its ops in the order of the schedule.
[[nodiscard]] AadiffPlan planChecks(Slots slots, const StepTimeline& step, const CostModel& costs,
                                    const PlanLimits& limits);

/// Plans further steps of a rank that has run checks before. `last_checks` orders its units by their last check, 0 for
/// never. The plan has `limits.max_steps` steps if any unit fits.
[[nodiscard]] RankPlan planMoreChecks(std::vector<Slot> slots, const StepTimeline& step, Rank rank,
                                      const CostModel& costs, const PlanLimits& limits,
                                      std::vector<std::int64_t> last_checks);

/// The checks that fit into a schedule's bubbles, with its ops as they run and with ops moved within their slack.
struct AadiffStudy {
    StepTimeline executed;
    StepTimeline retimed; ///< ops delayed within their slack, so that idle time is contiguous (consolidate.h)
    AadiffPlan as_executed;
    AadiffPlan with_slack;
    std::optional<SlotCounts> counts; ///< of the closed form

    /// True if moving ops pays off: full coverage is reached sooner, or more is checked per step.
    [[nodiscard]] bool retiming() const;
    [[nodiscard]] const AadiffPlan& plan() const { return retiming() ? with_slack : as_executed; }
    [[nodiscard]] const StepTimeline& timeline() const { return retiming() ? retimed : executed; }
    /// The fraction of the units that `plan` ever covers, and of a step's compute time that it re-executes.
    [[nodiscard]] static double coverableFraction(const AadiffPlan& plan);
    [[nodiscard]] double checkedFraction(const AadiffPlan& plan) const;
};

/// Errors: as for simulate(); Usage if `limits` do not cover every stage or rank.
[[nodiscard]] Result<AadiffStudy> studyAadiff(const Schedule& schedule, const CostModel& costs,
                                              const PlanLimits& limits);

} // namespace bubblescope
