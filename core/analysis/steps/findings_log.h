#pragma once

#include "core/analysis/anomalies/anomaly.h"
#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// An open or resolved finding.
struct LoggedFinding {
    Anomaly anomaly;                ///< in its latest form; while it is open, this includes cases in steps that were
                                    ///< dropped
    int found_at = 0;               ///< the step after which it was reported
    int last_at = 0;                ///< the latest step after which it was found
    int times = 0;                  ///< number of steps that added a case
    std::optional<int> resolved_at; ///< the step after which it was resolved; none while it is open
};

/// The steps that were searched for findings.
struct SearchedSteps {
    int last = 0;        ///< the latest step
    int fresh = 1;       ///< number of them that are new since the previous search
    int oldest = 0;      ///< earlier steps were only used for comparison
    TimeNs step_time{0}; ///< duration of a step
};

/// Keeps the findings of a run that is searched window by window. Windows may overlap. Findings of several windows at
/// one place (identityOf()) are merged. Memory is bounded.
///
/// Also decides which findings of a running job to report. A finding opens when it matters and is resolved after a
/// quiet period; while it is open, further cases are counted but not reported again. It opens immediately if it has no
/// cost (a fact, such as a missing op), if a case costs a step `worth`, or if it costs all steps `worth` on average. A
/// cheaper one opens after `in_succession` consecutive searches that found it, and only if it costs `least` on average.
/// Bubbles above the closed form are reported only if none of their causes is. A finding is resolved after `quiet`
/// steps without a new case; that number doubles each time it returns.
class FindingsLog {
public:
    struct Limits {
        double worth = 0.05;   ///< as a fraction of a step
        double least = 0.02;   ///< as a fraction of a step
        int in_succession = 2; ///< searches, each after one or several steps
        int quiet = 8;         ///< steps
        int most_quiet = 256;  ///< maximum of `quiet`
        std::size_t most_known = 4096;
    };
    explicit FindingsLog(const Limits& limits) : limits_(limits) {}

    struct Changes {
        std::vector<LoggedFinding> opened; ///< worst first
        std::vector<LoggedFinding> resolved;
    };
    /// Adds the findings of a search, worst first. Its latest step must be later than that of the previous search.
    Changes update(std::vector<Anomaly> found, const SearchedSteps& searched);
    /// The open findings, worst first.
    [[nodiscard]] const std::vector<LoggedFinding>& current() const { return current_; }

    /// All findings of the run, reported or not, in the order of first occurrence: each in its most expensive form,
    /// with the cases and costs of all windows. `steps` are all steps of the run; their ops are not needed. The cost of
    /// a step with a case is the mean of the windows' medians, weighted by their steps.
    [[nodiscard]] std::vector<Anomaly> ofRun(std::span<const StepTimeline> steps) const;
    void clear();

private:
    struct Known {
        LoggedFinding told;
        Anomaly worst;         ///< of the whole run, see ofRun()
        std::size_t order = 0; ///< order of first occurrence
        bool open = false;
        int newest = -1;     ///< the last step with a case
        int found_last = -1; ///< the latest step after which it was found
        int in_succession = 0;
        int quiet = 0;        ///< number of quiet steps that resolve it
        int resolved_at = -1; ///< cases up to this step have been reported
    };
    [[nodiscard]] bool isWorthTelling(const Known& known) const;
    /// The open finding about slow ops of many ranks, if this one concerns one of them: it counts the cases of both.
    [[nodiscard]] Known* openOfAllRanks(const Anomaly& anomaly);
    /// Slow ops of a rank that turned out to be permanently slow.
    [[nodiscard]] bool isStraggler(const Anomaly& anomaly) const;
    void take(Known& known, Anomaly anomaly, Changes& changes);
    void resolve(Changes& changes);

    Limits limits_;
    SearchedSteps searched_;
    bool causes_found_ = false; ///< the latest search found a finding with a cost
    std::vector<LoggedFinding> current_;
    std::vector<std::pair<std::optional<Rank>, std::optional<int>>> stragglers_; ///< found last: rank and replica
    std::map<std::string, Known> known_;                                         ///< by identityOf()
};

} // namespace bubblescope
