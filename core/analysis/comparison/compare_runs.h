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
    /// Probability of reporting any change between runs that do not differ. Four fifths of this are used for groups of
    /// ops, one fifth for single ops.
    double alpha = 0.05;
    /// Minimum change to report, as a fraction of the step (for steps, idle time and single ops) or of the measure (for
    /// other measures).
    double least_share = 0.005;
};

/// A measure in two runs.
struct Change {
    MeasureKey key;
    TimeNs a{0}; ///< median over the first run's steps; for a single op, the excess over similar ops
    TimeNs b{0};
    TimeNs shift{0}; ///< typical difference B - A; see estimateShift()
    TimeNs low{0};   ///< lower end of the 95 % interval
    TimeNs high{0};
    TimeNs per_step{0}; ///< shift multiplied by the number of occurrences per step
    /// p-value, adjusted for the number of measures; none if there are too few steps for a test.
    std::optional<double> chance;
};

/// The first position at which a rank runs a different op; the op is empty if the list has ended.
struct OrderChange {
    Rank rank;
    std::size_t index = 0;
    std::optional<Op> a;
    std::optional<Op> b;
};

struct RunComparison {
    CompareLimits limits; ///< as requested
    Matching matching = Matching::ByRank;
    Sentence matching_note;    ///< reason why ops are not matched individually; empty if they are
    StepSelection selection_a; ///< selection of the first run's steps; warm-up and outliers are not compared
    StepSelection selection_b;
    std::size_t steps_a = 0; ///< number of compared steps: selected steps without a missing replica
    std::size_t steps_b = 0;
    bool tested = false;                    ///< false if there are too few steps for a test
    Change step;                            ///< time of the typical step, even if unchanged
    bool step_changed = false;              ///< result of the test; false if untested
    std::vector<Change> changes;            ///< groups, transfers and idle time; most expensive first
    std::vector<Change> ops;                ///< single ops; most expensive first
    std::vector<OrderChange> order_changes; ///< differences between typical orders, by rank; only for Matching::ByRank
    std::size_t compared_groups = 0;
    std::size_t compared_ops = 0;
    std::size_t unmatched = 0; ///< number of measures that are missing from a step of either run
};

/// Compares two runs measure by measure, using relabellingTest(). Both runs must have steps (loadRun() never returns a
/// run without steps).
[[nodiscard]] RunComparison compareRuns(const Run& a, const Run& b, const CompareLimits& limits = {});

} // namespace bubblescope
