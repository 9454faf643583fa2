#pragma once

#include "core/analysis/comparison/measures.h"
#include "core/base/sentence.h"
#include "core/recognise/run.h"
#include "core/timeline/step_selection.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

struct CompareLimits {
    /// Chance that runs which do not differ give any change at all. Four fifths of it go to whole groups, the rest
    /// to single ops.
    double alpha = 0.05;
    /// Changes of less are not told: a share of the measure's own size; of the step for steps, idle time and single
    /// ops.
    double least_share = 0.005;
};

/// One measure in two runs.
struct Change {
    MeasureKey key;
    TimeNs a{0}; ///< median over the first run's steps; of a single op its excess over its likes
    TimeNs b{0};
    TimeNs shift{0}; ///< typical B less A, see estimateShift()
    TimeNs low{0};   ///< with its 95 % interval
    TimeNs high{0};
    TimeNs per_step{0}; ///< the shift times how often a step holds the thing
    /// Chance of as large a difference anywhere if the runs do not differ; none where there are too few steps to
    /// tell.
    std::optional<double> chance;
};

/// The first place at which a rank runs another op; an op is missing where the list has ended.
struct OrderChange {
    Rank rank;
    std::size_t index = 0;
    std::optional<Op> a;
    std::optional<Op> b;
};

struct RunComparison {
    CompareLimits limits; ///< that were asked for
    Matching matching = Matching::ByRank;
    Sentence matching_note;    ///< why ops are not matched one by one; empty where they are
    StepSelection selection_a; ///< of the first run's steps: warm-up and outliers are not compared
    StepSelection selection_b;
    std::size_t steps_a = 0; ///< compared steps: those taken, except where a replica is missing
    std::size_t steps_b = 0;
    bool tested = false;                    ///< false: too few steps to tell a change from chance
    Change step;                            ///< the typical step's time, changed or not
    bool step_changed = false;              ///< by the test; false if untested
    std::vector<Change> changes;            ///< groups, transfers and idle time; most costly first
    std::vector<Change> ops;                ///< single ops; likewise
    std::vector<OrderChange> order_changes; ///< typical orders, by rank; with Matching::ByRank only
    std::size_t compared_groups = 0;
    std::size_t compared_ops = 0;
    std::size_t unmatched = 0; ///< measures that some step of one run lacks
};

/// Compares two runs measure by measure; relabellingTest() judges. Both have steps (loadRun never returns a run
/// without).
[[nodiscard]] RunComparison compareRuns(const Run& a, const Run& b, const CompareLimits& limits = {});

} // namespace bubblescope
