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

/// A finding that holds, or held once.
struct LoggedFinding {
    Anomaly anomaly;                ///< in its latest form; while it is open, with the cases of steps that are gone
    int found_at = 0;               ///< the step after which it was reported
    int last_at = 0;                ///< the last step after which it was found
    int times = 0;                  ///< how many steps added a case
    std::optional<int> resolved_at; ///< the step after which it was over; none while it is open
};

/// The steps in which findings were searched.
struct SearchedSteps {
    int last = 0;        ///< the latest step
    int fresh = 1;       ///< so many of them were in no earlier search
    int oldest = 0;      ///< of the steps before this one, only those to compare with were searched
    TimeNs step_time{0}; ///< how long a step takes
};

/// Keeps the findings of a run that is searched window by window, one search after another. Windows may overlap.
/// Findings of several windows at one place (identityOf()) are one. Memory is bounded.
///
/// It also decides which findings of a running job are reported. A finding opens when it matters, and is resolved after
/// a quiet period; while it is open, further cases are counted and not reported again. It opens at once if it has no
/// cost (a fact, such as a missing op), if a case costs a step `worth`, or if it costs all steps `worth` on average. A
/// cheaper one opens once it was found by `in_succession` searches in a row, and only if it costs `least` on average.
/// Bubbles above the closed form are reported if no cause of them is. A finding is resolved after `quiet` steps without
/// a new case; the number doubles each time that it returns.
class FindingsLog {
public:
    struct Limits {
        double worth = 0.05;   ///< as a share of a step
        double least = 0.02;   ///< the same
        int in_succession = 2; ///< searches: each after one step, or after several
        int quiet = 8;         ///< steps
        int most_quiet = 256;  ///< likewise
        std::size_t most_known = 4096;
    };
    explicit FindingsLog(const Limits& limits) : limits_(limits) {}

    struct Changes {
        std::vector<LoggedFinding> opened; ///< worst first
        std::vector<LoggedFinding> resolved;
    };
    /// Takes what a search found, worst first. Its latest step must be later than that of the search before.
    Changes update(std::vector<Anomaly> found, const SearchedSteps& searched);
    /// The open ones, worst first.
    [[nodiscard]] const std::vector<LoggedFinding>& current() const { return current_; }

    /// All findings of the run, reported or not, in the order in which they first came: each in the form in which it
    /// cost most, with the cases and costs of all windows. `steps` are all of the run; their ops are not needed. The
    /// cost of a step with a case is the mean of the windows' medians, each weighted by its steps.
    [[nodiscard]] std::vector<Anomaly> ofRun(std::span<const StepTimeline> steps) const;
    void clear();

private:
    struct Known {
        LoggedFinding told;
        Anomaly worst;         ///< of the run, see ofRun()
        std::size_t order = 0; ///< in which it first came
        bool open = false;
        int newest = -1;     ///< the last step with a case
        int found_last = -1; ///< the last step after which it was found
        int in_succession = 0;
        int quiet = 0;        ///< how many quiet steps resolve it
        int resolved_at = -1; ///< cases up to this step were reported
    };
    [[nodiscard]] bool isWorthTelling(const Known& known) const;
    /// The open finding for slow ops of many ranks, if this one concerns one of them: it counts the cases of both.
    [[nodiscard]] Known* openOfAllRanks(const Anomaly& anomaly);
    /// Slow ops of a rank that proved to be permanently slow.
    [[nodiscard]] bool isStraggler(const Anomaly& anomaly) const;
    void take(Known& known, Anomaly anomaly, Changes& changes);
    void resolve(Changes& changes);

    Limits limits_;
    SearchedSteps searched_;
    bool causes_found_ = false; ///< after the last step, a finding that has a cost
    std::vector<LoggedFinding> current_;
    std::vector<std::pair<std::optional<Rank>, std::optional<int>>> stragglers_; ///< found last: rank and replica
    std::map<std::string, Known> known_;                                         ///< by identityOf()
};

} // namespace bubblescope
