#pragma once

#include "app/cli/command_line.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/base/time.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// Adds --fail-on to a command that reports findings; its values are "any" or kinds of findings.
void addFailOn(const Command& command, std::vector<std::string>& kinds);

/// True if `kinds`, the values of --fail-on, include this kind. "slow-stage" also includes a slow last stage.
[[nodiscard]] bool failsOnFinding(const std::vector<std::string>& kinds, AnomalyKind found);
[[nodiscard]] bool failsOnAny(const std::vector<std::string>& kinds, const std::vector<Anomaly>& found);

/// The options --max-step and --max-bubble. If a step exceeds one of these limits, the command exits with 1.
class Budgets {
public:
    void add(Command command);

    [[nodiscard]] bool any() const { return step_.has_value() || bubble_.has_value(); }
    /// Prints to stderr each limit that a step of this length and bubble rate exceeds. True if any limit is exceeded.
    bool exceeded(TimeNs step, double bubble_rate) const;

private:
    std::optional<TimeNs> step_;
    std::optional<double> bubble_; ///< a fraction
};

} // namespace bubblescope::cli
