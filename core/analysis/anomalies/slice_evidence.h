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

/// How the device of a rank idled inside the ops of a chunk.
struct DeviceGaps {
    std::vector<double> fractions; ///< of each op with several kernels: how much of its time the device idled
    TimeNs idle{0};                ///< sum over those ops
};

/// All instances of a kernel.
struct KernelSum {
    std::int64_t count = 0;
    TimeNs total{0};
};

/// What a file's devices computed, by the names of kernels.
struct KernelSums {
    std::map<std::string, KernelSum> by_name;
};

/// What anomalies need of a run's raw slices.
struct SliceEvidence {
    ActivityOfRanks activities; ///< of ranks with a file of their own that names any
    std::map<std::pair<Rank, Chunk>, DeviceGaps> device_gaps;
    std::vector<std::optional<double>> memory_peaks; ///< bytes, by file of the run
    std::vector<KernelSums> kernel_sums;             ///< by file of the run; empty where no ranks share a stage
};

/// Extracts it from the files of a run that alignRun() put on `clocks`. Memory peaks only where `peaks_wanted`.
/// Errors: as extract().
[[nodiscard]] Result<SliceEvidence> sliceEvidence(const Run& run, const RunClocks& clocks, bool peaks_wanted);

/// When a file's devices ran kernels.
[[nodiscard]] Result<std::vector<BusySpans>> extractKernelTime(RawTrace& raw);
inline constexpr Extractor<BusySpans> kKernelTime{"kernel time", extractKernelTime};

[[nodiscard]] Result<std::vector<KernelSums>> extractKernelSums(RawTrace& raw);
inline constexpr Extractor<KernelSums> kKernelSums{"kernel sums", extractKernelSums};

/// The largest value of a file's counters of memory, in bytes.
[[nodiscard]] Result<std::vector<std::optional<double>>> extractMemoryPeaks(RawTrace& raw);
inline constexpr Extractor<std::optional<double>> kMemoryPeaks{"memory peaks", extractMemoryPeaks};

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
