#include "app/cli/fail_on.h"

#include <algorithm>

namespace bubblescope::cli {

std::vector<std::string> failKinds() {
    std::vector<std::string> kinds{"any"};
    for (const AnomalyKindInfo& info : anomalyKinds())
        kinds.emplace_back(info.name);
    return kinds;
}

bool failsOnFinding(const std::vector<std::string>& kinds, AnomalyKind found) {
    return std::ranges::any_of(kinds, [&](const std::string& kind) {
        return kind == "any" || kind == anomalyKindName(found) ||
               (found == AnomalyKind::LastStageImbalance && kind == anomalyKindName(AnomalyKind::SlowStage));
    });
}

} // namespace bubblescope::cli
