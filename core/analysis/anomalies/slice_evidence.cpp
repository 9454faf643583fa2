#include "core/analysis/anomalies/slice_evidence.h"

#include "core/analysis/anomalies/anomaly.h"
#include "core/analysis/clocks/clock_evidence.h"
#include "core/base/time_intervals.h"
#include "core/recognise/gpu_work.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kFewestKernels = 2; // a single kernel has no gaps

/// The slices that a file's devices ran within an op.
struct DeviceUse {
    TimeNs busy{0};
    std::size_t stretches = 0; ///< stretches of busy time
};

DeviceUse useWithin(const BusySpans& kernels, TimeInterval op) {
    DeviceUse use;
    auto at = std::ranges::lower_bound(kernels.busy, op.start, {}, &TimeInterval::end);
    for (; at != kernels.busy.end() && at->start < op.end; ++at) {
        use.busy += std::min(at->end, op.end) - std::max(at->start, op.start);
        ++use.stretches;
    }
    return use;
}

/// An op whose use of the device is extracted.
struct MeasuredOp {
    TimeInterval time; ///< on the file's clock
    Rank rank;
    Chunk chunk;
};

void addGaps(const BusySpans& kernels, const MeasuredOp& op, SliceEvidence& evidence) {
    const DeviceUse use = useWithin(kernels, op.time);
    if (use.stretches < kFewestKernels) return;
    DeviceGaps& gaps = evidence.device_gaps[{op.rank, op.chunk}];
    gaps.fractions.push_back(1 -
                             static_cast<double>(use.busy.count()) / static_cast<double>(op.time.duration().count()));
    gaps.idle += op.time.duration() - use.busy;
}

using OpsOfFiles = std::map<std::uint32_t, std::vector<MeasuredOp>>;

/// The host activities of ranks that are alone in their file.
ActivityOfRanks activitiesOf(const std::vector<HostActivityTimes>& files, const ClockOfRank& clocks, bool moved) {
    const auto isNamed = [](const BusySpans& times) { return !times.busy.empty(); };
    std::map<std::uint32_t, int> ranks_of_file = ranksPerFile(clocks);
    ActivityOfRanks out;
    for (const auto& [key, clock] : clocks) {
        if (!clock.file || *clock.file >= files.size() || ranks_of_file[*clock.file] != 1) continue;
        if (std::ranges::none_of(files[*clock.file].times, isNamed)) continue;
        HostActivityTimes& of_rank = out.try_emplace(key, files[*clock.file]).first->second;
        for (BusySpans& times : of_rank.times) {
            for (TimeInterval& span : times.busy) {
                if (moved) span = {clock.fit.toReference(span.start), clock.fit.toReference(span.end)};
            }
        }
    }
    return out;
}

/// Ops whose device's kernels are in a known file, by file.
OpsOfFiles opsOfKnownFiles(const Run& run, const ClockOfRank& clocks, bool moved) {
    std::map<std::uint32_t, int> ranks_of_file = ranksPerFile(clocks);
    OpsOfFiles ops;
    for (const StepTimeline& step : run.steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const auto clock = clocks.find({step.replica, Rank{r}});
            // In a file of several ranks, kernels cannot be assigned to ranks.
            if (clock == clocks.end() || !clock->second.file || ranks_of_file[*clock->second.file] != 1) continue;
            const std::uint32_t file = *clock->second.file;
            const auto shown = [&](TimeNs time) { return moved ? clock->second.fit.fromReference(time) : time; };
            for (const TimelineOp& op : step.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer || op.duration().count() <= 0) continue;
                ops[file].push_back({{shown(op.start), shown(op.end)}, Rank{r}, op.op.chunk});
            }
        }
    }
    return ops;
}

} // namespace

Result<std::vector<BusySpans>> extractKernelTime(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<BusySpans> files(raw.fileCount());
    for (TrackId id = 0; trace.lanes().anyWork() && id < trace.tracks().size(); ++id) {
        const Track& track = trace.tracks()[id];
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            const LaneKind lane = trace.laneOf(slice, id);
            if (lane != LaneKind::Device && lane != LaneKind::Communication) continue;
            files[track.file].busy.push_back({trace.start(slice), trace.end(slice)});
        }
    }
    for (BusySpans& file : files)
        file.busy = unionOf(std::move(file.busy));
    return files;
}

Result<std::vector<KernelSums>> extractKernelSums(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<KernelSums> files(raw.fileCount());
    std::map<std::pair<std::uint32_t, StringId>, KernelSum> sums;
    DeviceSlices on_device(trace);
    for (SliceId slice = 0; on_device.any() && slice < trace.sliceCount(); ++slice) {
        if (!on_device.contains(slice) || on_device.kind(slice) != WorkKind::Compute) continue;
        const std::uint32_t file = trace.tracks()[trace.sliceTracks()[slice]].file;
        KernelSum& sum = sums[{file, trace.sliceNames()[slice]}];
        ++sum.count;
        sum.total += trace.end(slice) - trace.start(slice);
    }
    for (const auto& [key, sum] : sums)
        files[key.first].by_name.emplace(trace.text(key.second), sum);
    return files;
}

namespace {

bool anyShareStages(const Run& run) {
    return run.places && run.places->sizes.at(MeshAxis::Tensor) > 1;
}

} // namespace

Result<SliceEvidence> sliceEvidence(const Run& run, const RunClocks& run_clocks) {
    SliceEvidence evidence;
    if (run.trace == nullptr) return evidence;
    if (anyShareStages(run)) {
        BUBBLESCOPE_ASSIGN(evidence.kernel_sums, extract(run, kKernelSums));
    }
    BUBBLESCOPE_ASSIGN(const std::vector<HostActivityTimes> activities, extract(run, kHostActivities));
    const bool any_activity = std::ranges::any_of(activities, [](const HostActivityTimes& file) {
        return std::ranges::any_of(file.times, [](const BusySpans& times) { return !times.busy.empty(); });
    });
    const bool moved = run_clocks.method == ClockMethod::Aligned;
    ClockOfRank clocks; // needed only for activities or kernels
    if (any_activity) {
        BUBBLESCOPE_ASSIGN(clocks, clocksOfRanks(run, run_clocks));
        evidence.activities = activitiesOf(activities, clocks, moved);
    }
    RawTrace raw(run.trace);
    BUBBLESCOPE_ASSIGN(std::vector<BusySpans> kernels, extractKernelTime(raw));
    std::optional<OpsOfFiles> ops; // created only if there are kernels to assign to ranks
    for (std::uint32_t file = 0; file < kernels.size(); ++file) {
        // Handles one extract at a time, because a large job has thousands of ranks with a few megabytes each.
        if (raw.files()[file].extract != nullptr) {
            BUBBLESCOPE_ASSIGN(kernels[file], raw.stored<BusySpans>(file, keyOf(kKernelTime)));
        }
        const BusySpans of_file = std::exchange(kernels[file], {});
        if (of_file.busy.empty()) continue;
        if (!ops) {
            if (!any_activity) {
                BUBBLESCOPE_ASSIGN(clocks, clocksOfRanks(run, run_clocks));
            }
            ops = opsOfKnownFiles(run, clocks, moved);
        }
        for (const MeasuredOp& op : (*ops)[file])
            addGaps(of_file, op, evidence);
    }
    return evidence;
}

} // namespace bubblescope
