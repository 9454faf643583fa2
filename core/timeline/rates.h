#pragma once

#include "core/timeline/step_timeline.h"

namespace bubblescope {

/// The three things that are called "bubble rate". The first is meant wherever nothing else is said.
struct BubbleRates {
    double over_makespan = 0; ///< idle over makespan, mean of all ranks
    double span = 0;          ///< on the rank with the longest span (first start to last end): idle over span, as the
                              ///< zero-bubble papers count
    double over_ideal = 0;    ///< (makespan − ideal) / ideal, ideal = the busiest rank's work
};

[[nodiscard]] BubbleRates bubbleRates(const StepTimeline& step);

} // namespace bubblescope
