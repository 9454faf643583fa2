#pragma once

#include "app/cli/command_line.h"
#include "core/analysis/anomalies/anomaly.h"
#include "core/base/result.h"
#include "core/base/time.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// Adds --fail-on where findings are made: it takes "any" and the names of their kinds.
void addFailOn(const Command& command, std::vector<std::string>& kinds);

/// Whether a finding is one that `kinds`, a value of --fail-on, names. "slow-stage" names a slow last stage too.
[[nodiscard]] bool failsOnFinding(const std::vector<std::string>& kinds, AnomalyKind found);
[[nodiscard]] bool failsOnAny(const std::vector<std::string>& kinds, const std::vector<Anomaly>& found);

/// Limits for a step: --max-step and --max-bubble. A step above one of them makes a command exit with 1.
class Budgets {
public:
    void add(Command command);

    [[nodiscard]] bool any() const { return step_.has_value() || bubble_.has_value(); }
    /// Prints on stderr which limits a step of this length and bubble rate exceeds; true if any.
    bool exceeded(TimeNs step, double bubble_rate) const;

private:
    std::optional<TimeNs> step_;
    std::optional<double> bubble_; ///< a share
};

} // namespace bubblescope::cli
