#pragma once

#include "core/analysis/anomalies/anomaly.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

// Counts and describes the occurrences of a finding.
namespace bubblescope {

/// Collects the occurrences of one finding.
class Cases {
public:
    /// Adds cases in a step. `step` is an index into the run's steps.
    void add(std::size_t step, TimeNs cost = TimeNs{0}, std::int64_t cases = 1);
    /// Adds a case in each step from step number `from` on, for one replica or for all.
    void addAll(std::span<const StepTimeline> steps, std::optional<int> replica, TimeNs cost, int from = 0);

    void merge(const Cases& more);
    /// Discards cases in steps with a smaller index.
    void dropBefore(std::size_t step) { steps_.erase(steps_.begin(), steps_.lower_bound(step)); }

    [[nodiscard]] bool empty() const { return steps_.empty(); }
    [[nodiscard]] TimeNs typicalCost() const; ///< median over the steps with a case
    [[nodiscard]] TimeNs total() const;       ///< over all steps
    /// Examines the steps of one replica, or of all replicas. If several replicas ran the same step number, the most
    /// expensive one counts. The finding is considered to be continuing until twice the mean distance between cases has
    /// passed. If nothing was added, Occurrence::cases is 0.
    [[nodiscard]] Occurrence occurrence(std::span<const StepTimeline> steps, std::optional<int> replica) const;

private:
    struct OfStep {
        TimeNs cost{0};
        std::int64_t cases = 0;
    };
    std::map<std::size_t, OfStep> steps_;
};

/// Sets the fields that depend on the examined step numbers: `of_steps`, `since_first` and `goes_on`.
void settleOccurrence(Occurrence& seen, const std::set<int>& examined);

/// The distance between steps with a case, if it is regular: requires at least three such steps among the latest 64
/// step numbers.
[[nodiscard]] std::optional<int> rhythmOf(const Occurrence& seen);

/// Text such as "in 12 of the last 20 steps, since step 31, and continuing; 1.2 s in total". Empty for findings that do
/// not concern steps.
[[nodiscard]] Sentence occurrenceText(const Occurrence& seen);

/// The certainty of a finding: the p-value of a test, or another basis.
[[nodiscard]] Sentence certaintyText(const Anomaly& anomaly);

/// The change that removes the cause of the finding, in the syntax of `whatif --if`: "rank:2=usual". Empty if there is
/// none. `shape` can be any step of the run.
[[nodiscard]] std::string changeWithout(const StepTimeline& shape, const Anomaly& anomaly);

/// A command line that shows more about a finding in these trace files; empty if there is none.
[[nodiscard]] std::string commandThatShows(const StepTimeline& shape, const Anomaly& anomaly, std::string_view files);

} // namespace bubblescope
