#include "core/analysis/anomalies/slice_evidence.h"

#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/clocks/clock_evidence.h"
#include "core/base/time_intervals.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kFewestKernels = 2; // one kernel has no gaps

/// When a file's devices run something, as a union of intervals.
class DeviceTime {
public:
    void add(TimeInterval kernel) { kernels_.push_back(kernel); }
    void finish() { kernels_ = unionOf(std::move(kernels_)); }
    [[nodiscard]] DeviceUse within(TimeInterval op) const {
        DeviceUse use;
        auto at = std::ranges::lower_bound(kernels_, op.start, {}, &TimeInterval::end);
        for (; at != kernels_.end() && at->start < op.end; ++at) {
            use.busy += std::min(at->end, op.end) - std::max(at->start, op.start);
            ++use.stretches;
        }
        return use;
    }

private:
    std::vector<TimeInterval> kernels_;
};

/// By replica and rank.
using ClockOfRank = std::map<RankKey, RankClock>;

/// Which file has a rank's ops, and how they were moved from the clock of that file.
Result<ClockOfRank> clocksOf(const Run& run, const RunClocks& run_clocks) {
    ClockOfRank clocks;
    for (const RankClock& rank : run_clocks.ranks)
        clocks[{rank.replica, rank.rank}] = rank;
    if (!clocks.empty()) return clocks;
    BUBBLESCOPE_ASSIGN(const auto files, rankFiles(run));
    for (const auto& [key, file] : files) // clocks were not estimated, so nothing was moved
        clocks[key].file = file;
    return clocks;
}

/// An op whose device use is extracted.
struct MeasuredOp {
    std::uint32_t file = 0;
    std::size_t place = 0; ///< among the file's OpWindows
    Rank rank;
    Chunk chunk;
    TimeNs duration{0};
};

/// The ops of which it is known which file has their device's kernels; their times by that file's clock go to `times`.
std::vector<MeasuredOp> opsOfKnownFiles(const Run& run, const ClockOfRank& clocks, bool moved, OpWindows& times) {
    std::map<std::uint32_t, int> ranks_of_file;
    for (const auto& [key, clock] : clocks) {
        if (clock.file) ++ranks_of_file[*clock.file];
    }
    std::vector<MeasuredOp> ops;
    for (const StepTimeline& step : run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const auto clock = clocks.find({step.replica, Rank{r}});
            // In a file of several ranks it is unknown whose kernel is whose.
            if (clock == clocks.end() || !clock->second.file || ranks_of_file[*clock->second.file] != 1) continue;
            const std::uint32_t file = *clock->second.file;
            const auto shown = [&](TimeNs time) { return moved ? clock->second.fit.fromReference(time) : time; };
            auto& of_file = times[file];
            for (const TimelineOp& op : step.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer || op.duration().count() <= 0) continue;
                const std::pair when(shown(op.start), shown(op.end));
                ops.push_back({file, of_file.size(), Rank{r}, op.op.chunk, when.second - when.first});
                of_file.push_back(when);
            }
        }
    }
    return ops;
}

} // namespace

Result<std::vector<DeviceUses>> extractDeviceUse(RawTrace& raw, const OpWindows& ops) {
    const Trace& trace = raw.trace();
    std::vector<DeviceUses> files(raw.fileCount());
    const StringId kernel = trace.strings().find("kernel");
    std::vector<DeviceTime> devices(files.size());
    std::vector<bool> has_kernels(files.size());
    for (SliceId slice = 0; kernel != 0 && slice < trace.sliceCount(); ++slice) {
        if (trace.sliceCategories()[slice] != kernel) continue;
        const std::uint32_t file = trace.tracks()[trace.sliceTracks()[slice]].file;
        devices[file].add({trace.start(slice), trace.end(slice)});
        has_kernels[file] = true;
    }
    for (std::uint32_t file = 0; file < files.size(); ++file) {
        const auto of_file = ops.find(file);
        if (of_file == ops.end() || !has_kernels[file]) continue;
        devices[file].finish();
        for (const auto& [start, end] : of_file->second)
            files[file].push_back(devices[file].within({start, end}));
    }
    return files;
}

Result<std::vector<std::optional<double>>> extractMemoryPeaks(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<std::optional<double>> peaks(raw.fileCount());
    for (const CounterSeries& series : trace.counters()) {
        std::string name(trace.text(series.name));
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (name.find("memory") == std::string::npos || series.values.empty()) continue;
        std::optional<double>& peak = peaks[series.file];
        peak = std::max(peak.value_or(0), *std::ranges::max_element(series.values));
    }
    return peaks;
}

Result<SliceEvidence> sliceEvidence(const Run& run, const RunClocks& run_clocks, bool peaks_wanted) {
    SliceEvidence evidence;
    if (peaks_wanted) {
        BUBBLESCOPE_ASSIGN(evidence.memory_peaks, extract(run, kMemoryPeaks));
    }
    if (run.trace == nullptr || run.trace->strings().find("kernel") == 0) return evidence;

    BUBBLESCOPE_ASSIGN(const ClockOfRank clocks, clocksOf(run, run_clocks));
    OpWindows times;
    const std::vector<MeasuredOp> ops = opsOfKnownFiles(run, clocks, run_clocks.method == ClockMethod::Aligned, times);
    BUBBLESCOPE_ASSIGN(const std::vector<DeviceUses> uses, extract(run, kDeviceUse, times));
    for (const MeasuredOp& op : ops) {
        if (op.file >= uses.size() || uses[op.file].empty()) continue;
        const DeviceUse& use = uses[op.file][op.place];
        if (use.stretches < kFewestKernels) continue;
        DeviceGaps& gaps = evidence.device_gaps[{op.rank, op.chunk}];
        gaps.fractions.push_back(1 - static_cast<double>(use.busy.count()) / static_cast<double>(op.duration.count()));
        gaps.idle += op.duration - use.busy;
    }
    return evidence;
}

} // namespace bubblescope
