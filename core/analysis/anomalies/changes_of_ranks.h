#pragma once

#include "core/analysis/statistics/change_point.h"
#include "core/recognise/partitioned_trace.h"
#include "core/recognise/run.h"

#include <vector>

namespace bubblescope {

/// Series of values, and when they change.
struct SeriesToSearch {
    std::vector<std::vector<double>> series;
    statistics::ChangeLimits limits;
};
using ChangesOfSeries = std::vector<std::vector<statistics::Change>>;

/// statistics::findChanges() of each series, on all cores. Where several processes hold the run's trace, each searches
/// some of them, with the same result; if one fails, this one searches all.
[[nodiscard]] ChangesOfSeries searchChanges(const Run& run, const SeriesToSearch& wanted);

/// Those of one process.
[[nodiscard]] Result<ChangesOfSeries> searchPart(TracePartition& partition, const SeriesToSearch& part);
void fields(WireWriter& wire, const SeriesToSearch& value);
void fields(WireReader& wire, SeriesToSearch& value);
inline constexpr PartitionTask<ChangesOfSeries, SeriesToSearch> kSearchChanges{"search changes", searchPart};

namespace statistics {
template <class Wire>
void fields(Wire& wire, Change& value) {
    auto& [at, probability, before, after] = value;
    wire(at, probability, before, after);
}
} // namespace statistics

} // namespace bubblescope
