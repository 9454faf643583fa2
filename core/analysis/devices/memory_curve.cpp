#include "core/analysis/devices/memory_curve.h"

#include "core/base/reserved_memory.h"
#include "core/base/text.h"

#include <algorithm>
#include <map>
#include <utility>

namespace bubblescope {
namespace {

using Point = MemoryCurve::Point;

double peakOf(const std::vector<Point>& points) {
    return std::ranges::max(points, {}, &Point::bytes).bytes;
}

void keepHigher(MemoryCurve& known, MemoryCurve other) {
    if (other.points.empty()) return;
    const auto isBetter = [&] {
        return known.reserved == other.reserved ? peakOf(other.points) > peakOf(known.points) : !other.reserved;
    };
    if (known.points.empty() || isBetter()) known = std::move(other);
}

std::vector<Point> pointsOf(const CounterSeries& series) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < std::min(series.times.size(), series.values.size()); ++i)
        points.push_back({series.times[i], series.values[i]});
    return points;
}

/// Kineto's memory events state, after each allocation, how much is allocated on that device.
std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<Point>> allocatedOnDevices(const Trace& trace) {
    std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<Point>> curves; // by file and device
    const StringId event = trace.strings().find("[memory]");
    if (event == 0) return curves;
    for (const Instant& instant : trace.instants()) {
        if (instant.name != event) continue;
        constexpr std::int64_t kCpu = 0; // DeviceType
        const auto type = trace.intArg(instant.args, "Device Type");
        const auto bytes = trace.intArg(instant.args, "Total Allocated");
        if (!bytes || type.value_or(kCpu) == kCpu) continue;
        const std::int64_t device = trace.intArg(instant.args, "Device Id").value_or(0);
        curves[{trace.tracks()[instant.track].file, device}].push_back({instant.time, static_cast<double>(*bytes)});
    }
    return curves;
}

void thin(std::vector<Point>& points) {
    constexpr std::size_t kMost = 4096;
    std::ranges::stable_sort(points, {}, &Point::time);
    if (points.size() <= kMost) return;
    const TimeNs begin = points.front().time;
    const auto length = static_cast<double>((points.back().time - begin).count()) + 1;
    std::vector<Point> peaks;
    std::size_t stretch = kMost; // none yet
    for (const Point& point : points) {
        const auto at = static_cast<std::size_t>(static_cast<double>((point.time - begin).count()) / length * kMost);
        if (at != stretch)
            peaks.push_back(point);
        else if (point.bytes > peaks.back().bytes)
            peaks.back() = point;
        stretch = at;
    }
    points = std::move(peaks);
}

} // namespace

std::optional<double> MemoryCurve::peak() const {
    return points.empty() ? std::nullopt : std::optional(peakOf(points));
}

std::optional<MemoryCurve::Point> MemoryCurve::peakIn(TimeNs from, TimeNs to) const {
    auto point = std::ranges::upper_bound(points, from, {}, &Point::time);
    if (point != points.begin()) --point; // still holds
    std::optional<Point> peak;
    for (; point != points.end() && point->time <= to; ++point) {
        if (!peak || point->bytes > peak->bytes) peak = *point;
    }
    return peak;
}

Result<std::vector<MemoryCurve>> extractMemoryCurves(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<MemoryCurve> files(raw.fileCount());
    for (const CounterSeries& series : trace.counters()) {
        const std::string_view name = trace.text(series.name);
        if (lowerCase(name).find("memory") != std::string::npos)
            keepHigher(files[series.file], {pointsOf(series), name.starts_with(kReservedMemory)});
    }
    for (auto& [device, points] : allocatedOnDevices(trace))
        keepHigher(files[device.first], {std::move(points), false});
    for (MemoryCurve& file : files)
        thin(file.points);
    return files;
}

} // namespace bubblescope
