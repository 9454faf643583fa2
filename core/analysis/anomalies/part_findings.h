#pragma once

#include "core/analysis/anomalies/anomaly.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

/// Findings of the parts of a run, one part after another. Those of one identity become one: the worst part's, with the
/// cases and costs of all. Memory grows with the identities alone.
class PartFindings {
public:
    /// Of the part that follows.
    void add(std::vector<Anomaly> found);

    /// The findings, in the order in which they first came. `steps` are all of the run, by number; their ops are not
    /// needed. The cost of a step with a case is the mean of the parts' medians, each weighted by its steps.
    [[nodiscard]] std::vector<Anomaly> take(std::span<const StepTimeline> steps);

private:
    std::vector<Anomaly> found_;
    std::map<std::string, std::size_t> places_; ///< in `found_`, by identityOf()
};

} // namespace bubblescope
