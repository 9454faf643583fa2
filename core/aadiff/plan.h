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
    TimeNs start{0}; ///< relative to the step's begin
    TimeNs end{0};
    std::size_t next_op = 0; ///< index in the rank's order of the op that must not be delayed; the number of ops at the
                             ///< end

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

/// The slots of all ranks, each rank's by start.
using Slots = std::vector<std::vector<Slot>>;

/// The bubbles of one step, simulated or consolidated.
[[nodiscard]] Slots slotsOf(const StepTimeline& step);
/// The idle time that the last steps of a run left between the same ops: the shortest of each bubble, at its place in
/// the last step. Steps in a different order than the last one are ignored.
[[nodiscard]] Slots shortestSlotsOf(std::span<const StepTimeline> steps);

/// The lengths of the closed form's bubbles in op times: in 1F1B rank s has s, p−s−1, p−s−1 and s. Counted by making
/// ops longer by a nanosecond each: a form such as (p−s−1)·t_b gives p−s−1. In schedules that split the backward each
/// half counts as one op.
struct SlotCounts {
    std::vector<PerPosition<int>> ranks;
    [[nodiscard]] int total(Rank rank) const;
};

/// Nothing if the schedule does not have an exact form at every position, or if its stages differ.
[[nodiscard]] std::optional<SlotCounts> slotCounts(const Schedule& schedule, const CostModel& costs);

/// The unit of coverage: one kind of op of one layer of one chunk. A check of any micro-batch covers it, since all run
/// the same code on the same hardware. Layers of a chunk count from its input.
struct CheckUnit {
    Rank rank;
    Chunk chunk;
    OpKind kind = OpKind::Forward;
    int layer = 0;
    TimeNs cost{0}; ///< of computing it again, including the digest
};

/// The conditions for planning checks.
struct PlanLimits {
    /// Layers of each stage; empty = chunks are checked as a whole. A chunk's time is divided equally among its layers;
    /// a chunk without layers has nothing to check.
    std::vector<int> layers;
    /// The times of single layers, by stage, kind of op and number in the stage, where they are known better than that.
    std::map<std::tuple<Stage, OpKind, int>, TimeNs> layer_times;
    /// The kinds of ops that can be run again. Empty = all.
    std::vector<OpKind> kinds;
    /// Layers that cannot, by stage and number in the stage.
    std::set<std::pair<Stage, int>> left_out;
    double margin = 0.1; ///< fraction of its cost by which a check may take longer without delaying an op
    TimeNs latency{0};   ///< from the decision to the first work, for every check
    /// Inputs of an op that would be freed before its check are kept until then: bytes of one op of each stage (all its
    /// layers), and the bytes that each rank has available for that. Empty = no limit.
    std::vector<std::int64_t> kept_bytes;
    std::vector<std::int64_t> spare_bytes;
    int max_steps = 10'000; ///< the most steps to plan to reach full coverage
};

/// The time that a check of this cost must find free: with the margin by which it may take longer, after the latency.
[[nodiscard]] TimeNs timeNeeded(TimeNs cost, double margin, TimeNs latency = TimeNs{0});

/// A check in its slot.
struct PlannedCheck {
    std::size_t slot = 0; ///< index among its rank's slots
    std::size_t unit = 0; ///< index among its rank's units
    Microbatch microbatch;
    TimeNs start{0};
    TimeNs end{0};      ///< margin included
    bool kept = false;  ///< whether its inputs are kept for it because they would be freed by then
    std::size_t op = 0; ///< index in the rank's order of the op to run again
};

/// The plan of one rank.
struct RankPlan {
    std::vector<Slot> slots;
    std::vector<CheckUnit> units;
    std::vector<std::vector<PlannedCheck>> steps; ///< until all coverable units are covered; by start
    std::vector<std::size_t> never;               ///< units that fit into no slot in which their inputs are available
    /// Idle time in slots before the rank's first op, for known-answer tests.
    TimeNs before_first{0};
    std::int64_t peak_kept_bytes = 0;

    [[nodiscard]] TimeNs idle() const;
    /// The checks of a step, if the plan is repeated from its begin whenever it ends.
    [[nodiscard]] std::span<const PlannedCheck> checksOf(std::int64_t step) const;
    /// Mean over the planned steps, without margins.
    [[nodiscard]] TimeNs checkedPerStep() const;
    /// Steps to full coverage; nothing if some units are never covered.
    [[nodiscard]] std::optional<int> stepsToFull() const;
};

struct AadiffPlan {
    std::vector<RankPlan> ranks;

    /// That of the slowest rank; nothing if some units are never covered.
    [[nodiscard]] std::optional<int> stepsToFull() const;
    [[nodiscard]] TimeNs checkedPerStep() const; ///< of all ranks
};

/// Plans which ops are run again and where, so that no op of a step has to wait: a check is placed only where it ends,
/// margin included, before the slot does. Units whose last check is longest ago come first. In one step no layer of an
/// op is run again twice, but the same unit may be, with another micro-batch.
///
/// A forward can be checked at no memory cost while its activations exist, up to its backward. After that, and for
/// backwards (B, I, W) once they have run, the inputs must be kept. Weights change at the step's end, so ops of the
/// previous step cannot be run again; slots before a rank's first op are left to known-answer tests.
///
/// `step` is the timeline that `slots` lie in, with the ops in the order of the schedule.
[[nodiscard]] AadiffPlan planChecks(Slots slots, const StepTimeline& step, const CostModel& costs,
                                    const PlanLimits& limits);

/// Plans further steps of one rank whose units were checked before: `last_checks` orders them by their last check, with
/// 0 for those that never were. The plan has `limits.max_steps` steps, if any unit fits.
[[nodiscard]] RankPlan planMoreChecks(std::vector<Slot> slots, const StepTimeline& step, Rank rank,
                                      const CostModel& costs, const PlanLimits& limits,
                                      std::vector<std::int64_t> last_checks);

/// The checks that fit into a schedule's bubbles, as its ops run and with their slack used.
struct AadiffStudy {
    StepTimeline executed;
    StepTimeline retimed; ///< ops delayed within their slack, so that idle time is contiguous (consolidate.h)
    AadiffPlan as_executed;
    AadiffPlan with_slack;
    std::optional<SlotCounts> counts; ///< of the closed form

    /// Whether delaying ops pays: full coverage is reached sooner, or more is checked per step.
    [[nodiscard]] bool retiming() const;
    [[nodiscard]] const AadiffPlan& plan() const { return retiming() ? with_slack : as_executed; }
    [[nodiscard]] const StepTimeline& timeline() const { return retiming() ? retimed : executed; }
    /// The fraction of the units that `plan` ever covers, and of a step's compute time that it runs twice.
    [[nodiscard]] static double coverableFraction(const AadiffPlan& plan);
    [[nodiscard]] double checkedFraction(const AadiffPlan& plan) const;
};

/// Errors: those of simulate(); Usage if `limits` do not cover every stage or rank.
[[nodiscard]] Result<AadiffStudy> studyAadiff(const Schedule& schedule, const CostModel& costs,
                                              const PlanLimits& limits);

} // namespace bubblescope
