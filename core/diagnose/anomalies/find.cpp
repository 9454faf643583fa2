#include "core/diagnose/anomalies/input.h"

#include <algorithm>
#include <utility>

namespace bubblescope {

Anomalies findAnomalies(const AnomalyInput& input) {
    Anomalies found;
    findStragglers(input, found);
    findSlowStages(input, found);
    findSlowOps(input, found); // looks at the stragglers
    findSlowLinks(input, found);
    findOrderFaults(input, found);
    findLaunchBound(input, found);
    findBubbleFaults(input, found); // looks at all causes
    findStepTimeChanges(input, found);
    findClockFaults(input, found);
    findLostRecords(input, found);
    findMemoryFaults(input, found);
    std::ranges::stable_sort(found, [](const Anomaly& a, const Anomaly& b) {
        return std::pair(a.cost, a.severity) > std::pair(b.cost, b.severity);
    });
    return found;
}

} // namespace bubblescope
