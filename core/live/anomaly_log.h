#pragma once

#include "core/live/live_view.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace bubblescope::live {

/// Which anomalies hold, and which of them are new. One that disappears and soon returns is the same. Memory is
/// bounded.
class AnomalyLog {
public:
    /// `forget_after`: steps without an anomaly after which it counts as new again.
    explicit AnomalyLog(int forget_after) : forget_after_(forget_after) {}

    /// Takes what was found after a step, worst first. Returns the new ones.
    std::vector<LiveAnomaly> update(std::vector<Anomaly> found, int step);
    /// What held at the last update, worst first.
    [[nodiscard]] const std::vector<LiveAnomaly>& current() const { return current_; }
    void clear();

private:
    int forget_after_;
    std::vector<LiveAnomaly> current_;
    std::map<std::string, LiveAnomaly> known_; ///< by identityOf()
};

} // namespace bubblescope::live
