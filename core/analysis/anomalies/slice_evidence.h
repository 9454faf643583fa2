#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/recognise/raw_trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope {

/// How the device of a rank idled inside the ops of a chunk.
struct DeviceGaps {
    std::vector<double> fractions; ///< of each op with several kernels: how much of its time the device idled
    TimeNs idle{0};                ///< sum over those ops
};

/// What anomalies need of a run's raw slices.
struct SliceEvidence {
    std::map<std::pair<Rank, Chunk>, DeviceGaps> device_gaps;
    std::vector<std::optional<double>> memory_peaks; ///< bytes, by file of the run
};

/// Extracts it from the files of a run that alignRun() put on `clocks`. Memory peaks only where `peaks_wanted`.
/// Errors: as extract().
[[nodiscard]] Result<SliceEvidence> sliceEvidence(const Run& run, const RunClocks& clocks, bool peaks_wanted);

/// Begin and end of ops by the clock of their file, by file.
using OpWindows = std::map<std::uint32_t, std::vector<std::pair<TimeNs, TimeNs>>>;
/// What a file's devices ran within an op.
struct DeviceUse {
    TimeNs busy{0};
    std::size_t stretches = 0; ///< of busy time
};
/// One for each of the file's ops; none for a file without kernels.
using DeviceUses = std::vector<DeviceUse>;
[[nodiscard]] Result<std::vector<DeviceUses>> extractDeviceUse(RawTrace& raw, const OpWindows& ops);
inline constexpr Extractor<DeviceUses, OpWindows> kDeviceUse{"device use", extractDeviceUse};

/// The largest value of a file's counters of memory, in bytes.
[[nodiscard]] Result<std::vector<std::optional<double>>> extractMemoryPeaks(RawTrace& raw);
inline constexpr Extractor<std::optional<double>> kMemoryPeaks{"memory peaks", extractMemoryPeaks};

template <class Wire>
void fields(Wire& wire, DeviceUse& value) {
    auto& [busy, stretches] = value;
    wire(busy, stretches);
}

} // namespace bubblescope
