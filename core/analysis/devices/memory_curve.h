#pragma once

#include "core/recognise/raw_trace.h"
#include "core/recognise/run.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// A file's memory over time, on the file's own clock, in order of time.
struct MemoryCurve {
    struct Point {
        TimeNs time{0};
        double bytes = 0;
    };
    std::vector<Point> points;

    [[nodiscard]] std::optional<double> peak() const;
    /// The first of the largest values in [from, to], counting the last one before it, which still holds at `from`.
    [[nodiscard]] std::optional<Point> peakIn(TimeNs from, TimeNs to) const;
};

/// The memory counter with the highest peak of each file, in bytes: a counter whose name contains "memory", or the
/// bytes allocated on a device in the memory events of PyTorch's profiler. Long curves keep the peak of each of 4,096
/// equal stretches of time.
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
    auto& [points] = value;
    wire(points);
}

} // namespace bubblescope
