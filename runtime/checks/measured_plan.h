#pragma once

#include "core/aadiff/plan.h"
#include "runtime/checks/check_setup.h"
#include "runtime/comm/transport.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// The plan of one rank of a run that is not paced, made from what its own steps leave idle. Nominal times say little
/// there: ops take what their maths takes, and where ranks outnumber cores a rank that waits leaves its core to
/// another.
///
/// The first steps only measure. From then on each bubble counts as long as the shortest of the last few at the same
/// place, and no longer than a core was free in it; checks are planned for the next few steps, then again. Where cores
/// are short, some steps from time to time measure again for how long one is free. On a device, steps without checks
/// measure. For the rank's thread.
class MeasuredPlan {
public:
    static constexpr int kMeasuredSteps = 8; ///< in a row
    static constexpr int kPlannedSteps = 8;  ///< before the plan is renewed
    static constexpr int kRound = 64;        ///< steps between two begins of measuring, where cores are short
    static constexpr std::size_t kLast = 8;  ///< bubbles at a place that count
    /// Of the shortest of these that much is used: the next one may be shorter still.
    static constexpr std::int64_t kUsedParts = 4;
    static constexpr std::int64_t kParts = 5;

    /// `timeOf` returns the time to run a layer again, by kind of op and number in the model; nothing if it is unknown.
    using LayerTime = std::function<std::optional<TimeNs>(OpKind, int)>;
    MeasuredPlan(const CheckSetup& setup, const Schedule& schedule, Rank rank, LayerTime time_of);

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

    /// Whether the other ranks on the machine keep all cores busy.
    [[nodiscard]] static bool crowded(const std::optional<HostLoad>& load) {
        return coresAreShort(load) && load->busy >= load->cores;
    }
    /// Whether there are more ranks than cores.
    [[nodiscard]] static bool coresAreShort(const std::optional<HostLoad>& load) {
        return load && load->ranks > load->cores;
    }
    /// Whether cores are short is known from the first measured bubble on.
    void noteLoad(const std::optional<HostLoad>& load) { short_ = coresAreShort(load); }

private:
    struct Place {
        std::optional<TimeNs> since;
        std::deque<TimeNs> idle; ///< lengths of the last bubbles
        std::deque<TimeNs> free; ///< for how long a core was free in the last measured ones
        double trust = 1;        ///< the share of planned checks that fit lately
    };

    void renew();
    [[nodiscard]] PlanLimits limits() const;

    const CheckSetup& setup_;
    Rank rank_;
    LayerTime time_of_;
    StepTimeline step_;              ///< the rank's ops, in order; their times follow from the last measurements
    std::vector<std::size_t> index_; ///< by op of the timeline: its index in the rank's list
    std::vector<Place> places_;      ///< by index in the rank's list; the last one is the bubble after the last op
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

} // namespace bubblescope::runtime
