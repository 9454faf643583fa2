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

/// Plans checks for one rank of an unpaced run from the idle time that the rank has measured in its steps. Nominal op
/// times are useless here, because unpaced ops last as long as their computation and, if there are more ranks than
/// cores, a waiting rank yields its core to another rank.
///
/// The first steps only measure. From then on, a bubble's assumed length is the shortest of the recent ones at the same
/// position, and at most the time for which a core was free during the bubble. Each plan covers the next few steps. If
/// there are fewer cores than ranks, some later steps measure again how long a core is free. If ops run on a device,
/// bubbles are measured only in steps without checks. Not thread-safe; the caller supplies all times.
class MeasuredPlan {
public:
    static constexpr int kMeasuredSteps = 8; ///< consecutive steps
    static constexpr int kPlannedSteps = 8;  ///< steps until the plan is renewed
    static constexpr int kRound = 64;        ///< steps between two measurements if there are too few cores

    /// Returns the time needed to re-execute a layer, by kind of op, stage and index in the stage; empty if unknown.
    using LayerTime = std::function<std::optional<TimeNs>(OpKind, Stage, int)>;
    /// `step` may be any step of the run: only its order is used. `limits` must specify the layers of each stage.
    MeasuredPlan(const StepTimeline& step, const Schedule& schedule, Rank rank, PlanLimits limits, LayerTime time_of);

    /// Starts a step, in which planned checks run if `repeats` is true. Returns true only once: when the first plan
    /// after the measurements is ready (see first()).
    bool beginStep(bool repeats);

    /// True if the step only measures.
    [[nodiscard]] bool measures() const { return measures_; }
    /// True if the step runs planned checks.
    [[nodiscard]] bool repeats() const { return repeats_; }
    /// Units, slots and checks of the current plan.
    [[nodiscard]] const RankPlan& plan() const { return plan_; }
    /// The first plan after the measurements, with as many steps as needed to cover all units; empty until then.
    [[nodiscard]] const std::optional<RankPlan>& first() const { return first_; }
    /// The ops to which PlannedCheck::op refers.
    [[nodiscard]] const std::vector<TimelineOp>& timeline() const { return step_.ranks[rank_.index()]; }
    /// The checks of the current step.
    [[nodiscard]] std::span<const PlannedCheck> checks() const;
    /// The plan's slot before the op at `index` of the rank's list; empty if there is no slot.
    [[nodiscard]] std::optional<std::size_t> slotBefore(std::size_t index) const;
    /// Usable length of the bubble before the op at `index` of the rank's list; 0 if unknown.
    [[nodiscard]] TimeNs room(std::size_t index) const;

    // Events of the current step. A bubble is identified by the index of the op that ends it.
    void idleSince(std::size_t index, TimeNs now) { places_[index].since = now; }
    void inputsReady(std::size_t index, TimeNs ready);
    /// Reports that a core was free for the rank in this bubble until `now`. Must be called before inputsReady().
    void freeUntil(std::size_t index, TimeNs now);
    /// Reports that a planned check did not fit into this bubble. The plan is renewed at the next step. A bubble in
    /// which too few checks fitted recently is not used for a while.
    void missed(std::size_t index);
    void checked(std::size_t index, std::size_t unit);

    /// Sets whether there are more ranks than cores, which is known once the first bubble has been measured.
    void setCoresShort(bool are_short) { short_ = are_short; }

private:
    struct Place {
        std::optional<TimeNs> since;
        double trust = 1; ///< fraction of recent planned checks that fitted into their bubbles
    };

    void renew();
    [[nodiscard]] PlanLimits limitsNow() const;

    Rank rank_;
    PlanLimits limits_;
    LayerTime time_of_;
    StepTimeline step_;              ///< the rank's ops in order, with times from the latest measurements
    std::vector<std::size_t> index_; ///< index in the rank's list for each op of the timeline
    std::vector<Place> places_;      ///< by index in the rank's list; the last entry is the bubble after the last op
    BubbleForecast idle_;            ///< of bubbles, by place
    BubbleForecast free_;            ///< parts of bubbles in which a core is free, by position
    RankPlan plan_;
    std::optional<RankPlan> first_;
    std::vector<std::int64_t> last_checks_; ///< by unit
    std::int64_t checks_ = 0;
    int steps_ = 0;      ///< steps started
    int since_plan_ = 0; ///< number of steps with checks since the plan was made, excluding the current step
    bool measures_ = true;
    bool repeats_ = false;
    bool short_ = false;
    bool missed_ = false; ///< true if a check did not fit into its bubble since the plan was made
};

} // namespace bubblescope
