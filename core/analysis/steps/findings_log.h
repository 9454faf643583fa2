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
    Anomaly anomaly;                ///< latest form of the finding; an open one includes cases in dropped
                                    ///< steps
    int found_at = 0;               ///< step after which the finding was reported
    int last_at = 0;                ///< step after which a search last found the finding
    int times = 0;                  ///< number of steps that added a case to it
    std::optional<int> resolved_at; ///< step after which the finding was resolved; none while it is open
};

/// The steps that a search for findings examined.
struct SearchedSteps {
    int last = 0;        ///< the latest step
    int fresh = 1;       ///< number of steps since the previous search
    int oldest = 0;      ///< first step that was searched; earlier steps were only used for comparison
    TimeNs step_time{0}; ///< duration of a step
};

/// Stores the findings of a run that is searched window by window. Windows may overlap. Findings with equal
/// identityOf() in several windows are merged. Memory is bounded.
///
/// Also decides which findings of a running job to report. A finding opens when it becomes significant and is resolved
/// after a period without cases. While it is open, further cases are counted but not reported again. A finding opens
/// immediately if it has no cost (such as a missing op), if a case costs its step at least `worth`, or if the average
/// cost reaches `worth`. A cheaper finding opens after `in_succession` consecutive searches that found it, and only if
/// its average cost is at least `least`. Bubbles above the closed form are reported only if no cause is reported. A
/// finding is resolved after `quiet` steps without a new case. `quiet` doubles each time the finding returns.
class FindingsLog {
public:
    struct Limits {
        double worth = 0.05;   ///< fraction of a step
        double least = 0.02;   ///< fraction of a step
        int in_succession = 2; ///< number of successive searches, each after one or several steps
        int quiet = 8;         ///< steps
        int most_quiet = 256;  ///< maximum of `quiet`
        std::size_t most_known = 4096;
    };
    explicit FindingsLog(const Limits& limits) : limits_(limits) {}

    struct Changes {
        std::vector<LoggedFinding> opened; ///< worst first
        std::vector<LoggedFinding> resolved;
    };
    /// Adds the findings of a search, worst first. The search's latest step must be later than the previous search's.
    Changes update(std::vector<Anomaly> found, const SearchedSteps& searched);
    /// The open findings, worst first.
    [[nodiscard]] const std::vector<LoggedFinding>& current() const { return current_; }

    /// All findings of the run, reported or not, in order of first occurrence. Each finding is returned in its most
    /// expensive form, with the cases and costs from all windows. `steps` contains all steps of the run; their ops are
    /// not needed. The cost of a step with a case is the mean of the windows' medians, weighted by the number of steps.
    [[nodiscard]] std::vector<Anomaly> ofRun(std::span<const StepTimeline> steps) const;
    void clear();

private:
    struct Known {
        LoggedFinding told;
        Anomaly worst;         ///< most expensive form over the complete run; see ofRun()
        std::size_t order = 0; ///< order of first occurrence
        bool open = false;
        int newest = -1;     ///< last step with a case
        int found_last = -1; ///< step after which a search last found the finding
        int in_succession = 0;
        int quiet = 0;        ///< number of quiet steps after which the finding is resolved
        int resolved_at = -1; ///< cases up to this step were already reported
    };
    [[nodiscard]] bool isWorthTelling(const Known& known) const;
    /// The open finding about slow ops on many ranks, if its cases include those of `anomaly`.
    [[nodiscard]] Known* openOfAllRanks(const Anomaly& anomaly);
    /// True for slow ops of a rank that later turned out to be permanently slow.
    [[nodiscard]] bool isStraggler(const Anomaly& anomaly) const;
    void take(Known& known, Anomaly anomaly, Changes& changes);
    void resolve(Changes& changes);

    Limits limits_;
    SearchedSteps searched_;
    bool causes_found_ = false; ///< true if the latest search found a finding with a cost
    std::vector<LoggedFinding> current_;
    std::vector<std::pair<std::optional<Rank>, std::optional<int>>> stragglers_; ///< in the last search
    std::map<std::string, Known> known_;                                         ///< by identityOf()
};

} // namespace bubblescope
