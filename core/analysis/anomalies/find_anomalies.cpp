#include "core/analysis/anomalies/find_anomalies.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace bubblescope {

Sentence nameRank(int replica, Rank rank, int replicas) {
    return replicas == 1 ? say("rank {}", rank.value) : say("rank {} of replica {}", rank.value, replica);
}

Anomalies findInSteps(const AnomalyInput& input) {
    Anomalies found;
    Anomalies blocking;
    Anomalies order;
    std::optional<TransferSamples> sampled;
    parallelCalls(
        [&] {
            findBlockingReceives(input, blocking);
            findQueuedSends(input, blocking);
        },
        [&] { findOrderFaults(input, order); }, [&] { sampled.emplace(input.run.steps); },
        [&] {
            const OpSamples samples(input.run.steps, input.selection);
            findStragglers(input, samples, found);
            findSlowPeers(input, found);
            findSlowStages(input, samples, found);
            const auto levels = findDataImbalance(input, samples, found);
            findSlowOps(input, samples, levels, found); // uses the stragglers found
        });
    const TransferSamples& transfers = *sampled;
    const auto add = [&found](Anomalies& others) { std::ranges::move(others, std::back_inserter(found)); };
    findStarvedHosts(input, found);
    findSlowLinks(input, transfers, found);
    findExposedCommunication(input, found);
    findGradientExchange(input, found);
    findTimeBetweenSteps(input, found);
    add(order);
    findLaunchBound(input, found);
    add(blocking);
    findClockFaults(input, transfers, found);
    if (input.reference > 0) // anomalies of the reference alone were found before
        std::erase_if(found, [](const Anomaly& anomaly) { return anomaly.seen.cases == 0; });
    return found;
}

void findInWholeRun(const AnomalyInput& input, Anomalies& found) {
    findBubblesAboveForm(input, found); // uses all causes found
    findLongWarmUp(input, found);
    findStepTimeChanges(input, found);
    findLongSteps(input, found);
    findLostRecords(input, found);
    findMemoryFaults(input, found);
    findAadiffFaults(input, found);
    std::ranges::stable_sort(found, [](const Anomaly& a, const Anomaly& b) {
        return std::pair(a.meanCost(), a.severity) > std::pair(b.meanCost(), b.severity);
    });
}

Anomalies findAnomalies(const AnomalyInput& input) {
    Anomalies found = findInSteps(input);
    findInWholeRun(input, found);
    return found;
}

} // namespace bubblescope
