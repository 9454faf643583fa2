#pragma once

#include "core/schedule/dependency.h"
#include "core/timeline/phases.h"
#include "core/timeline/position.h"
#include "core/timeline/step_timeline.h"

#include <span>
#include <vector>

namespace bubblescope {

/// The order in which a step's ops ran and what follows from it whatever the times. The steps of a run mostly have one
/// order, so that this is worth keeping from one step to the next.
class StepOrder {
public:
    explicit StepOrder(const StepTimeline& step);

    /// Becomes the order of another step. True if that has the same ops in the same order: then nothing changed.
    bool assign(const StepTimeline& step);

    [[nodiscard]] const Schedule& schedule() const { return schedule_; } ///< executedOrder()
    [[nodiscard]] const OpGraph& graph() const { return graph_; }        ///< of that
    /// Of a rank's ops as the timeline lists them, optimizers included.
    [[nodiscard]] const Phases& phases(Rank rank) const { return phases_[rank.index()]; }

private:
    [[nodiscard]] bool isOf(const StepTimeline& step) const;

    std::vector<std::vector<Op>> ops_; ///< as the timeline lists them
    Schedule schedule_;
    OpGraph graph_;
    std::vector<Phases> phases_;
};

/// findBubbles() of a step of this order.
[[nodiscard]] std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step, const StepOrder& order);
/// Of those, the time at each position, per rank.
[[nodiscard]] std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order);
/// The same if the step's ops, optimizers aside, began at `starts` and took `durations`, rank after rank.
[[nodiscard]] std::vector<PerPosition<TimeNs>> bubblesByPosition(const StepTimeline& step, const StepOrder& order,
                                                                 std::span<const TimeNs> starts,
                                                                 std::span<const TimeNs> durations);

} // namespace bubblescope
