#pragma once

#include "core/recognise/raw_trace.h"
#include "core/recognise/run.h"
#include "core/timeline/step_values.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope {

/// Values by step index and replica.
using StepValueMap = std::map<std::pair<int, int>, StepValues>;

/// The values reported by the framework of a recorded job about its steps, combined over all ranks. The first rank of a
/// tensor- or context-parallel group stands for the group. Empty if nothing is reported, or if reading the raw slices
/// failed.
[[nodiscard]] StepValueMap statedValues(const Run& run);

/// The values that the framework reports in one file, by step index.
using FileStepValues = std::map<int, StepValues>;
[[nodiscard]] Result<std::vector<FileStepValues>> extractStepValues(RawTrace& raw);
inline constexpr Extractor<FileStepValues> kStepValues{"step values", extractStepValues};

/// The typical transfer size in bytes: the median of the sizes recorded with transfer slices, in our own files and in
/// files of recorded jobs. None if no size is recorded.
[[nodiscard]] std::optional<std::int64_t> statedTransferBytes(const Trace& trace);

/// Values of a step; empty if there are none.
[[nodiscard]] StepValues valuesOf(const StepValueMap& all, const StepTimeline& step);

template <class Wire>
void fields(Wire& wire, StepValues& value) {
    auto& [loss, tokens, samples, sequence_length] = value;
    wire(loss, tokens, samples, sequence_length);
}

} // namespace bubblescope
