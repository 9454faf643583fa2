#pragma once

#include "core/live/live_view.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// Decides which findings of a running job are reported. A finding opens when it matters, and is resolved after a quiet
/// period; while it is open, further cases are counted and not reported again.
///
/// It opens at once if it has no cost (a fact, such as a missing op), if a case costs a step `worth`, or if it costs
/// all steps `worth` on average. A cheaper one opens once it was found by `in_succession` searches in a row, and only
/// if it costs `least` on average. Bubbles above the closed form are reported if no cause of them is. A finding is
/// resolved after `quiet` steps without a new case; the number doubles each time that it returns. Memory is bounded.
///
/// Findings are derived from the steps that are kept. While one is open, the step since which it holds stays the one
/// that was found when that step was still kept, and cases of steps that are gone remain counted.
class AnomalyLog {
public:
    struct Limits {
        double worth = 0.05;   ///< as a share of a step
        double least = 0.02;   ///< the same
        int in_succession = 2; ///< searches: each after one step, or after several
        int quiet = 8;         ///< steps
        int most_quiet = 256;  ///< likewise
    };
    explicit AnomalyLog(Limits limits) : limits_(limits) {}

    struct Changes {
        std::vector<LiveAnomaly> opened; ///< worst first
        std::vector<LiveAnomaly> resolved;
    };
    /// Takes what a search found after `step`, worst first. The step must be later than that of the last call; `steps`
    /// came since. `step_time` is how long a step takes. Of the steps before `oldest`, only the run's first ones are
    /// still kept.
    Changes update(std::vector<Anomaly> found, int step, TimeNs step_time, int oldest = 0, int steps = 1);
    /// The open ones, worst first.
    [[nodiscard]] const std::vector<LiveAnomaly>& current() const { return current_; }
    void clear();

private:
    struct Known {
        LiveAnomaly told;
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

    /// The arguments of update().
    struct Search {
        int step = 0;
        TimeNs step_time{0};
        int oldest = 0;
        int steps = 1;
    };

    Limits limits_;
    Search search_;
    bool causes_found_ = false; ///< after the last step, a finding that has a cost
    std::vector<LiveAnomaly> current_;
    std::vector<std::pair<std::optional<Rank>, std::optional<int>>> stragglers_; ///< found last: rank and replica
    std::map<std::string, Known> known_;                                         ///< by identityOf()
};

} // namespace bubblescope::live
