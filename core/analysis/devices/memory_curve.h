#pragma once

#include "core/recognise/raw_trace.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// One file's memory use over time, in order of time, on the clock of the file.
struct MemoryCurve {
    struct Point {
        TimeNs time{0};
        double bytes = 0;
    };
    std::vector<Point> points;
    bool reserved = false; ///< true for memory reserved from CUDA (base/reserved_memory.h), false for memory in use

    [[nodiscard]] std::optional<double> peak() const;
    /// The maximum in [from, to], including the last value before `from`. The first one in case of a tie.
    [[nodiscard]] std::optional<Point> peakIn(TimeNs from, TimeNs to) const;
};

/// For each file, the memory counter with the highest peak, in bytes. Memory counters have "memory" in their names or
/// count the bytes allocated on a device in PyTorch's memory events. Reserved memory is used only if nothing else is
/// known. Long curves are reduced to the peaks of 4,096 equal intervals.
[[nodiscard]] Result<std::vector<MemoryCurve>> extractMemoryCurves(RawTrace& raw);
inline constexpr Extractor<MemoryCurve> kMemoryCurves{"memory curves", extractMemoryCurves};

template <class Wire>
void fields(Wire& wire, MemoryCurve::Point& value) {
    auto& [time, bytes] = value;
    wire.instant(time);
    wire(bytes);
}
template <class Wire>
void fields(Wire& wire, MemoryCurve& value) {
    auto& [points, reserved] = value;
    wire(points);
    wire(reserved);
}

} // namespace bubblescope
