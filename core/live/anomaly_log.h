#pragma once

#include "core/live/live_view.h"

#include <map>
#include <string>
#include <vector>

namespace bubblescope::live {

/// Which findings of a running job are told. One opens when it is worth it, and is resolved when it was quiet for a
/// while; while it is open, more cases count and are not told again.
///
/// It opens at once if it has no cost (a fact, such as a missing op), if a case costs a step `worth`, or if it costs
/// all steps so much on average. What costs less opens if it is found after so many steps in succession, and only if it
/// costs `least` on average. Bubbles above the closed form are told where no cause of them is. It is resolved when
/// nothing new of it was seen for `quiet` steps, twice as many each time that it came back. Memory is bounded.
class AnomalyLog {
public:
    struct Limits {
        double worth = 0.05; ///< share of a step
        double least = 0.02; ///< the same
        int in_succession = 2;
        int quiet = 8;        ///< steps
        int most_quiet = 256; ///< likewise
    };
    explicit AnomalyLog(Limits limits) : limits_(limits) {}

    struct Changes {
        std::vector<LiveAnomaly> opened; ///< worst first
        std::vector<LiveAnomaly> resolved;
    };
    /// Takes what was found after a step, worst first; `step_time` is what a step takes.
    Changes update(std::vector<Anomaly> found, int step, TimeNs step_time);
    /// The open ones, worst first.
    [[nodiscard]] const std::vector<LiveAnomaly>& current() const { return current_; }
    /// All that was found after the last step, told or not, worst first.
    [[nodiscard]] const std::vector<LiveAnomaly>& found() const { return found_; }
    void clear();

private:
    struct Known {
        LiveAnomaly told;
        bool open = false;
        int newest = -1;     ///< the last step with a case
        int found_last = -1; ///< after which it was found
        int in_succession = 0;
        int quiet = 0;        ///< how long it is to be quiet
        int resolved_at = -1; ///< cases up to there were told
    };
    [[nodiscard]] bool isWorthTelling(const Known& known, TimeNs step_time) const;
    /// The open one that stands for slow ops of many ranks, where this is of one of them: cases of either are its own.
    [[nodiscard]] Known* openOfAllRanks(const Anomaly& anomaly);
    /// Slow ops of a rank that turned out to be slow for good.
    [[nodiscard]] bool isStraggler(const Anomaly& anomaly) const;
    void take(Known& known, Anomaly anomaly, int step, TimeNs step_time, Changes& changes);

    Limits limits_;
    bool causes_found_ = false; ///< after the last step, something that has a cost
    std::vector<LiveAnomaly> current_;
    std::vector<LiveAnomaly> found_;
    std::map<std::string, Known> known_; ///< by identityOf()
};

} // namespace bubblescope::live
