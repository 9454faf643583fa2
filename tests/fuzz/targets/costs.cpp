// Files that users write to give costs and sizes.

#include "core/cost/cost_files.h"
#include "core/cost/memory_estimate.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/optimize/overlap/operators.h"
#include "core/optimize/overlap/streams.h"
#include "core/optimize/overlap/study.h"
#include "core/optimize/partition/layer_times.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace bubblescope::fuzz {
namespace {

const Schedule& smallSchedule() {
    static const Schedule schedule = makeSchedule({"1f1b", "", 2, 3, 1}).value();
    return schedule;
}

template <class T>
bool usable(const Result<T>& result) {
    if (!result.ok()) checkError(result.error());
    return result.ok();
}

} // namespace

void costFiles(std::string_view bytes) {
    CostModel costs;
    costs.transfers.activation_bytes = 1000;
    if (auto stages = stageTimesFrom(bytes, kInput); usable(stages)) costs.stages = stages.value();
    if (auto links = linksFrom(bytes, kInput, 2); usable(links)) costs.transfers.links = links.value();
    if (auto times = opTimesFrom(bytes, kInput, smallSchedule(), OpGraph(smallSchedule())); usable(times))
        costs.measured = std::make_shared<MeasuredTimes>(std::move(times).value());
    (void)simulate(smallSchedule(), costs);
}

void memoryModel(std::string_view bytes) {
    const auto sizes = modelSizesFrom(bytes, kInput);
    if (!usable(sizes)) return;
    const auto model = bubblescope::memoryModel(sizes.value(), smallSchedule());
    if (!model.ok()) return;
    for (const RankMemory& rank : memoryUse(smallSchedule(), model.value()))
        require(rank.fixed() >= 0 && rank.peak() >= rank.fixed(), "a peak is on top of what is always there");
}

void layerTimes(std::string_view bytes) {
    for (const auto& read : {layerTimesFromJson, layerTimesFromCsv}) {
        const auto layers = read(bytes, kInput);
        if (!usable(layers)) continue;
        require(!layers.value().empty(), "a model has layers");
        for (const Layer& layer : layers.value()) {
            require(layer.times.forward >= TimeNs{0} && layer.times.backward >= TimeNs{0} && layer.memory >= 0,
                    "times and sizes are not negative");
        }
    }
}

void opCosts(std::string_view bytes) {
    using namespace overlap;
    const auto costs = opCostsFromJson(bytes, kInput);
    if (!usable(costs)) return;
    constexpr std::size_t kMaxStates = 10'000; // larger ones only cost time
    const auto layers = static_cast<std::size_t>(costs.value().layers);
    if (costs.value().forward.size() * costs.value().backward.size() * layers * layers > kMaxStates) return;
    TimeNs every{0};
    for (const Variant& variant : variants()) {
        const PairStudy study = studyPair(costs.value(), variant);
        (void)streamChart(study.plans.pair, study.pair);
        if (variant.cutting == Cutting::Every) every = study.pairTime();
        if (variant.cutting == Cutting::Search)
            require(study.pairTime() <= every, "a search finds nothing worse than cutting everywhere");
    }
}

} // namespace bubblescope::fuzz
