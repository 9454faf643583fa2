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

/// The plan of one rank of a run that is not paced, made from what its own steps leave idle. Nominal times say little
/// there: ops take what their maths takes, and where ranks outnumber cores a rank that waits leaves its core to
/// another.
///
/// The first steps only measure. From then on each bubble counts as long as the shortest of the last few at the same
/// place, and no longer than a core was free in it; checks are planned for the next few steps, then again. Where cores
/// are short, some steps from time to time measure again for how long one is free. On a device, steps without checks
/// measure. One thread; all times are passed in.
class MeasuredPlan {
public:
    static constexpr int kMeasuredSteps = 8; ///< in a row
    static constexpr int kPlannedSteps = 8;  ///< before the plan is renewed
    static constexpr int kRound = 64;        ///< steps between two begins of measuring, where cores are short

    /// Returns the time to run a layer again, by kind of op, stage and number in the stage; nothing if it is unknown.
    using LayerTime = std::function<std::optional<TimeNs>(OpKind, Stage, int)>;
    /// `step`: one of the run, from which only places are taken. `limits` must state the layers of each stage.
    MeasuredPlan(const StepTimeline& step, const Schedule& schedule, Rank rank, PlanLimits limits, LayerTime time_of);

    /// Begins a step, in which planned checks are made if it `repeats`. Returns true if the plan covers the run from
    /// here on for the first time: see plan().
    bool beginStep(bool repeats);

    /// Whether the step only measures.
    [[nodiscard]] bool measures() const { return measures_; }
    /// Whether planned checks are made in it.
    [[nodiscard]] bool repeats() const { return repeats_; }
    /// Units, and the slots and checks of the current plan.
    [[nodiscard]] const RankPlan& plan() const { return plan_; }
    /// The plan when measuring first ended, over as many steps as it takes to cover all units; none before.
    [[nodiscard]] const std::optional<RankPlan>& first() const { return first_; }
    /// The ops that PlannedCheck::op counts.
    [[nodiscard]] const std::vector<TimelineOp>& timeline() const { return step_.ranks[rank_.index()]; }
    /// The checks of the current step.
    [[nodiscard]] std::span<const PlannedCheck> checks() const;
    /// The slot of the plan before the op at `index` of the rank's list; nothing if it has none.
    [[nodiscard]] std::optional<std::size_t> slotBefore(std::size_t index) const;
    /// The usable length of the bubble before the op at `index` of the rank's list. 0 if it is unknown.
    [[nodiscard]] TimeNs room(std::size_t index) const;

    // What happens in the step. A bubble is identified by the index of the op that ends it.
    void idleSince(std::size_t index, TimeNs now) { places_[index].since = now; }
    void inputsReady(std::size_t index, TimeNs ready);
    /// A core was free for the rank in this bubble until `now`. To be called before inputsReady().
    void freeUntil(std::size_t index, TimeNs now);
    /// A planned check did not fit into this bubble: the plan is renewed with the next step. A bubble into which too
    /// few have fitted lately is left alone for a while.
    void missed(std::size_t index);
    void checked(std::size_t index, std::size_t unit);

    /// Whether there are more ranks than cores, known from the first measured bubble on.
    void setCoresShort(bool are_short) { short_ = are_short; }

private:
    struct Place {
        std::optional<TimeNs> since;
        double trust = 1; ///< the share of planned checks that fit lately
    };

    void renew();
    [[nodiscard]] PlanLimits limitsNow() const;

    Rank rank_;
    PlanLimits limits_;
    LayerTime time_of_;
    StepTimeline step_;              ///< the rank's ops, in order; their times follow from the last measurements
    std::vector<std::size_t> index_; ///< by op of the timeline: its index in the rank's list
    std::vector<Place> places_;      ///< by index in the rank's list; the last one is the bubble after the last op
    BubbleForecast idle_;            ///< of bubbles, by place
    BubbleForecast free_;            ///< of the time for which a core is free in them
    RankPlan plan_;
    std::optional<RankPlan> first_;
    std::vector<std::int64_t> last_checks_; ///< by unit
    std::int64_t checks_ = 0;
    int steps_ = 0;      ///< that have begun
    int since_plan_ = 0; ///< steps with checks that have begun since the plan was made, the current one excluded
    bool measures_ = true;
    bool repeats_ = false;
    bool short_ = false;
    bool missed_ = false; ///< since the plan was made
};

} // namespace bubblescope
