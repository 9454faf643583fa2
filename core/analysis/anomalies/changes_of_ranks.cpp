#include "core/analysis/anomalies/changes_of_ranks.h"

#include "core/base/wire_blocks.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace bubblescope {
namespace {

ChangesOfSeries searchHere(const SeriesToSearch& part) {
    ChangesOfSeries changes(part.series.size());
    parallelFor(part.series.size(),
                [&](std::size_t i) { changes[i] = statistics::findChanges(part.series[i], part.limits); });
    return changes;
}

} // namespace

ChangesOfSeries searchChanges(const Run& run, const SeriesToSearch& wanted) {
    const std::size_t count = wanted.series.size();
    const std::size_t processes = run.partitions == nullptr ? 1 : run.partitions->processes();
    if (processes < 2 || count < processes) return searchHere(wanted);
    std::vector<SeriesToSearch> parts;
    for (std::size_t process = 0; process < processes; ++process) {
        const auto border = [&](std::size_t of) {
            return wanted.series.begin() + static_cast<std::ptrdiff_t>(of * count / processes);
        };
        parts.push_back({{border(process), border(process + 1)}, wanted.limits});
    }
    auto answers = run.partitions->runEach(kSearchChanges, parts);
    ChangesOfSeries changes;
    if (answers.ok()) {
        for (ChangesOfSeries& part : answers.value())
            std::ranges::move(part, std::back_inserter(changes));
    }
    return changes.size() == count ? changes : searchHere(wanted);
}

Result<ChangesOfSeries> searchPart(TracePartition&, const SeriesToSearch& part) {
    return searchHere(part);
}

void fields(WireWriter& wire, const SeriesToSearch& value) {
    const auto& [hazard, probability, least_share, least_values, least_part] = value.limits;
    wire(hazard, probability, least_share, least_values, least_part);
    wireBlocks(wire, value.series);
}

void fields(WireReader& wire, SeriesToSearch& value) {
    auto& [hazard, probability, least_share, least_values, least_part] = value.limits;
    wire(hazard, probability, least_share, least_values, least_part);
    wireBlocks(wire, value.series);
}

} // namespace bubblescope
