#include "core/analysis/anomalies/find_anomalies.h"

#include <algorithm>
#include <utility>

namespace bubblescope {

Anomalies findAnomalies(const AnomalyInput& input) {
    Anomalies found;
    {
        const OpSamples samples(input.run.steps);
        findStragglers(input, samples, found);
        findSlowStages(input, samples, found);
        findSlowOps(input, samples, found); // uses the stragglers found
    }
    const TransferSamples transfers(input.run.steps);
    findSlowLinks(input, transfers, found);
    findOrderFaults(input, found);
    findLaunchBound(input, found);
    findBubbleFaults(input, found); // uses all causes found
    findStepTimeChanges(input, found);
    findClockFaults(input, transfers, found);
    findLostRecords(input, found);
    findMemoryFaults(input, found);
    findAadiffFaults(input, found);
    std::ranges::stable_sort(found, [](const Anomaly& a, const Anomaly& b) {
        return std::pair(a.cost, a.severity) > std::pair(b.cost, b.severity);
    });
    return found;
}

} // namespace bubblescope
