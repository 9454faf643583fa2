#include "app/cli/fail_on.h"

#include "app/cli/output.h"
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace bubblescope::cli {

void addFailOn(const Command& command, std::vector<std::string>& kinds) {
    std::vector<std::string> known{"any"};
    for (const AnomalyKindInfo& info : anomalyKinds())
        known.emplace_back(info.name);
    command
        .addOption("--fail-on", kinds,
                   "Exit with 1 on findings of these kinds: any, or a kind from `bubblescope anomalies`")
        .typeName("KIND")
        .delimiter(',')
        .oneOf(known);
}

bool failsOnFinding(const std::vector<std::string>& kinds, AnomalyKind found) {
    return std::ranges::any_of(kinds, [&](const std::string& kind) {
        return kind == "any" || kind == anomalyKindName(found) ||
               (found == AnomalyKind::LastStageImbalance && kind == anomalyKindName(AnomalyKind::SlowStage));
    });
}

bool failsOnAny(const std::vector<std::string>& kinds, const std::vector<Anomaly>& found) {
    return std::ranges::any_of(found, [&](const Anomaly& anomaly) { return failsOnFinding(kinds, anomaly.kind); });
}

namespace {

Result<double> bubbleShare(std::string_view given) {
    std::string_view text = given;
    if (text.ends_with('%')) text.remove_suffix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    const std::optional<double> percent = parseNumber<double>(text);
    if (!percent || !(*percent >= 0 && *percent <= 100))
        return usageError(fmt::format("--max-bubble: '{}' is not a percentage", given),
                          "use a percentage from 0 to 100, such as 20%");
    return *percent / 100;
}

} // namespace

void Budgets::add(Command command) {
    command.addParsed("--max-step", step_, parseTime, "Exit with 1 if a step takes longer than this, e.g. 700ms")
        .typeName("TIME")
        .group("Exit code");
    command
        .addParsed("--max-bubble", bubble_, bubbleShare,
                   "Exit with 1 if ranks are idle for more than this share of a step, e.g. 20%")
        .typeName("PERCENT")
        .group("Exit code");
}

bool Budgets::exceeded(TimeNs step, double bubble_rate) const {
    const bool long_step = step_ && step > *step_;
    const bool idle = bubble_ && bubble_rate > *bubble_;
    if (long_step)
        printError(fmt::format("over budget: a step takes {}, {} more than --max-step {}", formatTime(step),
                               formatTime(step - *step_), formatTime(*step_)));
    if (idle)
        printError(fmt::format("over budget: ranks are idle for {} of a step, but --max-bubble allows {}",
                               formatPercent(bubble_rate), formatPercent(*bubble_)));
    return long_step || idle;
}

} // namespace bubblescope::cli
