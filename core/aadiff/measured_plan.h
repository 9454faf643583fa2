#pragma once

#include "core/aadiff/bubble_forecast.h"
#include "core/aadiff/plan.h"
#include "core/base/time.h"
#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope {

/// The plan of one rank of an unpaced run, based on the idle time of its own steps. Nominal times do not help there:
/// ops take as long as their computation does, and if there are more ranks than cores, a waiting rank leaves its core
/// to another.
///
/// The first steps only measure. From then on, the assumed length of a bubble is the shortest of the last few at the
/// same place, and at most the time for which a core was free in it. Checks are planned for the next few steps at a
/// time. If there are too few cores, some steps occasionally measure again how long a core is free. On a device, the
/// steps without checks are the ones that measure. Not thread-safe; all times are passed in.
class MeasuredPlan {
public:
    static constexpr int kMeasuredSteps = 8; ///< consecutive steps
    static constexpr int kPlannedSteps = 8;  ///< steps until the plan is renewed
    static constexpr int kRound = 64;        ///< steps between two measurements if cores are short

    /// Returns the time to re-execute a layer, by kind of op, stage and index in the stage; empty if unknown.
    using LayerTime = std::function<std::optional<TimeNs>(OpKind, Stage, int)>;
    /// `step` may be any step of the run; only its order is used. `limits` must give the layers of each stage.
    MeasuredPlan(const StepTimeline& step, const Schedule& schedule, Rank rank, PlanLimits limits, LayerTime time_of);

    /// Starts a step, which runs planned checks if `repeats` is true. Returns true when the plan covers the rest of the
    /// run for the first time: see plan().
    bool beginStep(bool repeats);

    /// True if the step only measures.
    [[nodiscard]] bool measures() const { return measures_; }
    /// True if the step runs planned checks.
    [[nodiscard]] bool repeats() const { return repeats_; }
    /// Units, slots and checks of the current plan.
    [[nodiscard]] const RankPlan& plan() const { return plan_; }
    /// The plan made when measuring first ended, with as many steps as it takes to cover all units; empty before that.
    [[nodiscard]] const std::optional<RankPlan>& first() const { return first_; }
    /// The ops that PlannedCheck::op refers to.
    [[nodiscard]] const std::vector<TimelineOp>& timeline() const { return step_.ranks[rank_.index()]; }
    /// The checks of the current step.
    [[nodiscard]] std::span<const PlannedCheck> checks() const;
    /// The plan's slot before the op at `index` of the rank's list; empty if it has none.
    [[nodiscard]] std::optional<std::size_t> slotBefore(std::size_t index) const;
    /// The usable length of the bubble before the op at `index` of the rank's list; 0 if unknown.
    [[nodiscard]] TimeNs room(std::size_t index) const;

    // Events of the step. A bubble is identified by the index of the op that ends it.
    void idleSince(std::size_t index, TimeNs now) { places_[index].since = now; }
    void inputsReady(std::size_t index, TimeNs ready);
    /// A core was free for the rank in this bubble until `now`. Call it before inputsReady().
    void freeUntil(std::size_t index, TimeNs now);
    /// A planned check did not fit into this bubble. Renews the plan at the next step. A bubble that recently had room
    /// for too few checks is not used for a while.
    void missed(std::size_t index);
    void checked(std::size_t index, std::size_t unit);

    /// Sets whether there are more ranks than cores, which is known from the first measured bubble on.
    void setCoresShort(bool are_short) { short_ = are_short; }

private:
    struct Place {
        std::optional<TimeNs> since;
        double trust = 1; ///< fraction of recent planned checks that fitted
    };

    void renew();
    [[nodiscard]] PlanLimits limitsNow() const;

    Rank rank_;
    PlanLimits limits_;
    LayerTime time_of_;
    StepTimeline step_;              ///< the rank's ops, in order; their times come from the last measurements
    std::vector<std::size_t> index_; ///< per op of the timeline: its index in the rank's list
    std::vector<Place> places_;      ///< by index in the rank's list; the last one is the bubble after the last op
    BubbleForecast idle_;            ///< of bubbles, by place
    BubbleForecast free_;            ///< of the time in bubbles during which a core is free
    RankPlan plan_;
    std::optional<RankPlan> first_;
    std::vector<std::int64_t> last_checks_; ///< by unit
    std::int64_t checks_ = 0;
    int steps_ = 0;      ///< steps started
    int since_plan_ = 0; ///< steps with checks started since the plan was made, not counting the current one
    bool measures_ = true;
    bool repeats_ = false;
    bool short_ = false;
    bool missed_ = false; ///< since the plan was made
};

} // namespace bubblescope
