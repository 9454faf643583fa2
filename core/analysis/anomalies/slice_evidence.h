#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/analysis/period/host_activity.h"
#include "core/recognise/raw_trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// The idle time of a rank's device inside the ops of a chunk.
struct DeviceGaps {
    std::vector<double>
        fractions;  ///< for each op with several kernels: fraction of the op's time in which the device was idle
    TimeNs idle{0}; ///< sum over those ops
};

struct KernelSum {
    std::int64_t count = 0;
    TimeNs total{0};
};

/// Device work in a file, summed by kernel name.
struct KernelSums {
    std::map<std::string, KernelSum> by_name;
};

/// Data from a run's raw slices that the search for anomalies needs.
struct SliceEvidence {
    ActivityOfRanks activities; ///< only for ranks with a separate file that names activities
    std::map<std::pair<Rank, Chunk>, DeviceGaps> device_gaps;
    std::vector<std::optional<double>> memory_peaks; ///< see MemoryUse::peaks
    std::vector<KernelSums> kernel_sums;             ///< by file of the run; empty if no ranks share a stage
};

/// Extracts the evidence, except memory peaks, from the files of a run that alignRun() aligned to `clocks`. Errors: as
/// for extract().
[[nodiscard]] Result<SliceEvidence> sliceEvidence(const Run& run, const RunClocks& clocks);

/// The intervals in which a file's devices ran kernels.
[[nodiscard]] Result<std::vector<BusySpans>> extractKernelTime(RawTrace& raw);
inline constexpr Extractor<BusySpans> kKernelTime{"kernel time", extractKernelTime};

[[nodiscard]] Result<std::vector<KernelSums>> extractKernelSums(RawTrace& raw);
inline constexpr Extractor<KernelSums> kKernelSums{"kernel sums", extractKernelSums};

template <class Wire>
void fields(Wire& wire, KernelSum& value) {
    auto& [count, total] = value;
    wire(count);
    wire.duration(total);
}
template <class Wire>
void fields(Wire& wire, KernelSums& value) {
    auto& [by_name] = value;
    wire(by_name);
}

} // namespace bubblescope
