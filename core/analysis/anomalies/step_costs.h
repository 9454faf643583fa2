#pragma once

#include "core/graph/step_replay.h"

#include <functional>
#include <vector>

namespace bubblescope {

/// Tells what a step would save with other times, by the replay that also the accounting and the blame are made of.
class StepCosts {
public:
    explicit StepCosts(const StepTimeline& step, const StepKnowledge& known = {});

    /// By what the step gets shorter if its ops, but optimizers, take `time(rank, op)`; negative if it gets longer.
    /// What one half of a pair takes is not known: of what a half would be faster, were it all of the pair, the pair is
    /// faster by one half. For a stage or a rank, which have both kinds of halves, that adds up.
    [[nodiscard]] TimeNs savedByOps(const std::function<TimeNs(Rank, const TimelineOp&)>& time);
    /// The same if no transfer from one rank to another takes longer than `most`.
    [[nodiscard]] TimeNs savedByLink(Rank from, Rank to, TimeNs most);

private:
    const StepTimeline& step_;
    ObservedStep observed_;
    StepReplay replay_;
    std::vector<TimeNs> durations_; ///< per unit
    std::vector<TimeNs> delays_;
    TimeNs length_{0};
};

} // namespace bubblescope
