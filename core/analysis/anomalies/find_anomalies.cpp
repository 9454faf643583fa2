#include "core/analysis/anomalies/find_anomalies.h"

#include "core/parallel/parallel.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace bubblescope {

Sentence nameRank(int replica, Rank rank, int replicas) {
    return replicas == 1 ? say("rank {}", rank.value) : say("rank {} of replica {}", rank.value, replica);
}

Anomalies findAnomalies(const AnomalyInput& input) {
    Anomalies found;
    Anomalies blocking;
    Anomalies order;
    std::optional<TransferSamples> sampled;
    parallelCalls([&] { findBlockingReceives(input, blocking); }, [&] { findOrderFaults(input, order); },
                  [&] { sampled.emplace(input.run.steps); },
                  [&] {
                      const OpSamples samples(input.run.steps, input.selection);
                      findStragglers(input, samples, found);
                      findSlowStages(input, samples, found);
                      const auto levels = findDataImbalance(input, samples, found);
                      findSlowOps(input, samples, levels, found); // uses the stragglers found
                  });
    const TransferSamples& transfers = *sampled;
    const auto add = [&found](Anomalies& others) { std::ranges::move(others, std::back_inserter(found)); };
    findSlowLinks(input, transfers, found);
    findExposedCommunication(input, found);
    findGradientExchange(input, found);
    add(order);
    findLaunchBound(input, found);
    add(blocking);
    findBubblesAboveForm(input, found); // uses all causes found
    findLongWarmUp(input, found);
    findStepTimeChanges(input, found);
    findClockFaults(input, transfers, found);
    findLostRecords(input, found);
    findMemoryFaults(input, found);
    findAadiffFaults(input, found);
    std::ranges::stable_sort(found, [](const Anomaly& a, const Anomaly& b) {
        return std::pair(a.meanCost(), a.severity) > std::pair(b.meanCost(), b.severity);
    });
    return found;
}

} // namespace bubblescope
