// Bytes as a cost model of operators, through the cutting rules, the search and the chart.

#include "core/overlap/op_costs_json.h"
#include "core/overlap/stream_chart.h"
#include "core/overlap/study.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bubblescope::overlap;
    const auto costs = opCostsFromJson({reinterpret_cast<const char*>(data), size}, "input");
    if (!costs.ok()) return 0;
    constexpr std::size_t kMostStates = 10'000; // larger ones only cost time
    const auto layers = static_cast<std::size_t>(costs.value().layers);
    if (costs.value().forward.size() * costs.value().backward.size() * layers * layers > kMostStates) return 0;
    bubblescope::TimeNs every{0};
    for (const Variant& variant : variants()) {
        const PairStudy study = studyPair(costs.value(), variant);
        (void)streamChart(study.plans.pair, study.pair);
        if (variant.cutting == Cutting::Every) every = study.pairTime();
        if (variant.cutting == Cutting::Search && study.pairTime() > every) std::abort();
    }
    return 0;
}
