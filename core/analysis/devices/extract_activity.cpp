#include "core/analysis/devices/device_summary.h"
#include "core/analysis/devices/device_tracks.h"
#include "core/base/median.h"
#include "core/base/time_intervals.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace bubblescope {
namespace {

/// A kernel, copy or set that ran.
struct Work {
    TimeNs start{0};
    TimeNs end{0};
    SliceId slice = kNoId;
    WorkKind kind = WorkKind::Compute;
};

constexpr std::size_t classOf(WorkKind kind) {
    if (kind == WorkKind::Compute) return DeviceTimes::kCompute;
    return kind == WorkKind::Copy ? DeviceTimes::kMemory : DeviceTimes::kCommunication;
}

/// Merged intervals in which a device computed.
class ComputeTime {
public:
    explicit ComputeTime(std::span<const Work> work) {
        for (const Work& each : work) {
            if (each.kind == WorkKind::Compute) intervals_.push_back({each.start, each.end});
        }
        intervals_ = unionOf(std::move(intervals_));
        sum_.push_back(TimeNs{0});
        for (const TimeInterval& interval : intervals_)
            sum_.push_back(sum_.back() + interval.duration());
    }

    [[nodiscard]] TimeNs within(TimeInterval window) const { return until(window.end) - until(window.start); }

private:
    /// Compute time before `time`.
    [[nodiscard]] TimeNs until(TimeNs time) const {
        const auto behind = std::ranges::lower_bound(intervals_, time, {}, &TimeInterval::start);
        const auto i = static_cast<std::size_t>(behind - intervals_.begin());
        if (i == 0) return TimeNs{0};
        const TimeInterval& last = intervals_[i - 1];
        return sum_[i - 1] + (std::min(last.end, time) - last.start);
    }

    std::vector<TimeInterval> intervals_;
    std::vector<TimeNs> sum_; ///< total of those before each
};

/// `work` must be sorted by start.
DeviceTimes timesOf(std::span<const Work> work) {
    struct Change {
        TimeNs time{0};
        std::size_t place = 0; ///< index of the class in `running`
        int by = 0;
    };
    std::vector<Change> changes;
    changes.reserve(2 * work.size());
    for (const Work& each : work) {
        const std::size_t place = classOf(each.kind) / 2; // 1, 2, 4 -> 0, 1, 2
        changes.push_back({each.start, place, 1});
        changes.push_back({each.end, place, -1});
    }
    std::ranges::sort(changes, {}, &Change::time);
    DeviceTimes times;
    std::array<std::int64_t, 3> running{};
    for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
        running[changes[i].place] += changes[i].by;
        std::size_t mix = 0;
        for (std::size_t place = 0; place < running.size(); ++place)
            mix |= running[place] > 0 ? std::size_t{1} << place : 0;
        times.by_mix[mix] += changes[i + 1].time - changes[i].time;
    }
    return times;
}

using WorkBySteps = std::vector<std::span<const Work>>;

/// The work in each step whose kernels were recorded, because the device is not idle between these steps; all work if
/// kernels were recorded in all steps. `work` must be sorted by start.
WorkBySteps recordedParts(std::span<const Work> work, const SampledKernels& kernels) {
    if (!kernels.sampled) return {work};
    WorkBySteps parts;
    for (const Mark& step : kernels.steps) {
        const auto from = std::ranges::lower_bound(work, step.start, {}, &Work::start);
        const auto to = std::ranges::lower_bound(work, step.end, {}, &Work::start);
        if (from < to) parts.emplace_back(from, to);
    }
    return parts;
}

DeviceTimes timesOf(const WorkBySteps& parts) {
    DeviceTimes sum;
    for (const std::span<const Work> part : parts) {
        const DeviceTimes times = timesOf(part);
        for (std::size_t mix = 0; mix < times.by_mix.size(); ++mix)
            sum.by_mix[mix] += times.by_mix[mix];
    }
    return sum;
}

/// Adds the device work in marked steps; work is cut at a step's ends.
void addTimes(std::vector<StepActivity>& steps, std::span<const Work> work) {
    std::vector<std::vector<Work>> within(steps.size());
    for (const Work& each : work) {
        auto step = std::ranges::upper_bound(steps, each.start, {}, &StepActivity::start);
        if (step != steps.begin()) --step;
        for (; step != steps.end() && step->start < each.end; ++step) {
            Work part = each;
            part.start = std::max(part.start, step->start);
            part.end = std::min(part.end, step->start + step->duration);
            if (part.start < part.end) within[static_cast<std::size_t>(step - steps.begin())].push_back(part);
        }
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const DeviceTimes times = timesOf(within[i]);
        for (std::size_t mix = 1; mix < times.by_mix.size(); ++mix)
            steps[i].times.by_mix[mix] += times.by_mix[mix];
        steps[i].times.by_mix[0] += steps[i].duration - (times.span() - times.idle());
    }
}

/// Finds the call that launched a device's work.
class LaunchOf {
public:
    explicit LaunchOf(std::span<const GpuWork::Launch> launches) {
        by_slice_.reserve(launches.size());
        for (const GpuWork::Launch& launch : launches) {
            if (launch.call) by_slice_.emplace(launch.first, &launch);
        }
    }
    /// Null if unknown, and for all but the first work of a graph launch.
    [[nodiscard]] const GpuWork::Launch* operator()(SliceId slice) const {
        const auto known = by_slice_.find(slice);
        return known == by_slice_.end() ? nullptr : known->second;
    }

private:
    std::unordered_map<SliceId, const GpuWork::Launch*> by_slice_;
};

/// Finds the idle times of a stream or a device; the work of each part must be sorted by start.
IdleTimes idleOf(const WorkBySteps& parts, const LaunchOf& launch_of) {
    IdleTimes idle;
    TimeNs ended{0};
    const auto add = [&](const Work& each) {
        if (const TimeNs gap = each.start - ended; gap > TimeNs{0}) {
            const GpuWork::Launch* const launch = launch_of(each.slice);
            const bool late = launch != nullptr && launch->time > ended;
            (late ? idle.host : gap < kShortGap ? idle.gaps : idle.other) += gap;
        }
        ended = std::max(ended, each.end);
    };
    for (const std::span<const Work> part : parts) {
        ended = part.empty() ? ended : part.front().start;
        std::ranges::for_each(part, add);
    }
    return idle;
}

/// The largest number of launched pieces of work that were waiting at the same time.
std::int64_t mostQueued(std::span<const Work> work, const LaunchOf& launch_of) {
    std::vector<std::pair<TimeNs, int>> changes;
    for (const Work& each : work) {
        const GpuWork::Launch* const launch = launch_of(each.slice);
        if (launch == nullptr) continue;
        changes.emplace_back(launch->time, 1);
        changes.emplace_back(each.start, -1);
    }
    std::ranges::sort(changes);
    std::int64_t queued = 0;
    std::int64_t most = 0;
    for (const auto& [time, by] : changes)
        most = std::max(most, queued += by);
    return most;
}

std::vector<KernelTotals> kernelsOf(const Trace& trace, std::span<const Work> work) {
    std::map<std::pair<StringId, WorkKind>, KernelTotals> by_name;
    std::map<std::string_view, StringId> families; // for names that contain their call's number
    for (const Work& each : work) {
        const TimeNs time = each.end - each.start;
        KernelTotals one{{}, each.kind, 1, time, time, time, each.start};
        StringId name = trace.sliceNames()[each.slice];
        const std::string_view family = withoutCallNumber(trace.text(name));
        if (family.size() < trace.text(name).size()) name = families.try_emplace(family, name).first->second;
        by_name[{name, each.kind}].add(one);
    }
    std::vector<KernelTotals> list;
    for (auto& [key, totals] : by_name) {
        totals.name = withoutCallNumber(trace.text(key.first));
        list.push_back(std::move(totals));
    }
    return list;
}

// ---- Collectives ----

/// Size in bytes of a type, by PyTorch's or NCCL's name; 0 for others.
std::int64_t sizeOfType(std::string_view type) {
    static constexpr std::array<std::pair<std::string_view, std::int64_t>, 18> kSizes{{{"Float", 4},
                                                                                       {"Double", 8},
                                                                                       {"Half", 2},
                                                                                       {"BFloat16", 2},
                                                                                       {"Int", 4},
                                                                                       {"Long", 8},
                                                                                       {"Short", 2},
                                                                                       {"Char", 1},
                                                                                       {"Byte", 1},
                                                                                       {"Bool", 1},
                                                                                       {"Float8_e4m3fn", 1},
                                                                                       {"Float8_e5m2", 1},
                                                                                       {"Float8_e4m3fnuz", 1},
                                                                                       {"Float8_e5m2fnuz", 1},
                                                                                       {"ComplexFloat", 8},
                                                                                       {"ComplexDouble", 16},
                                                                                       {"UInt64", 8},
                                                                                       {"UInt32", 4}}};
    const auto known = std::ranges::find(kSizes, type, &std::pair<std::string_view, std::int64_t>::first);
    return known == kSizes.end() ? 0 : known->second;
}

/// The profiler's record of one transfer between ranks.
CollectiveTotals collectiveOf(const Trace& trace, const Work& work, const ComputeTime& compute) {
    const ArgSetId args = trace.sliceArgs()[work.slice];
    const auto text = [&](std::string_view name) { return trace.textArg(args, name).value_or(std::string()); };
    const auto number = [&](std::string_view name) { return trace.intArg(args, name).value_or(0); };
    CollectiveTotals one;
    one.name = text("Collective name");
    if (one.name.empty()) one.name = withoutCallNumber(trace.name(work.slice));
    one.group = text("Process Group Description");
    if (one.group.empty()) one.group = text("Process Group Name");
    one.group_size = std::max<std::int64_t>(number("Group size"), 0);
    // A damaged file may contain any number.
    constexpr std::int64_t kMostElements = std::int64_t{1} << 50;
    const std::int64_t elements =
        std::clamp<std::int64_t>(std::max(number("In msg nelems"), number("Out msg nelems")), 0, kMostElements);
    one.bytes = elements * sizeOfType(text("dtype"));
    one.count = 1;
    one.total = one.longest = work.end - work.start;
    one.exposed = one.total - compute.within({work.start, work.end});
    if (one.total > TimeNs{0}) {
        one.best_bandwidth =
            busBytes(one.name, one.group_size, one.bytes) / (static_cast<double>(one.total.count()) * 1e-9);
    }
    return one;
}

// ---- A device ----

template <class T>
T quantileOf(std::vector<T>& values, double part) {
    if (values.empty()) return T{0};
    const auto place = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1));
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(place));
    return values[place];
}

LaunchSummary launchesOf(std::span<const Work> work, const LaunchOf& launch_of) {
    std::vector<TimeNs> calls;
    std::vector<TimeNs> delays;
    LaunchSummary summary;
    for (const Work& each : work) {
        const GpuWork::Launch* const launch = launch_of(each.slice);
        if (launch == nullptr) continue;
        const TimeNs call = launch->returned - launch->time;
        calls.push_back(call);
        delays.push_back(std::max(TimeNs{0}, each.start - launch->returned));
        summary.delay_longest = std::max(summary.delay_longest, delays.back());
        summary.shorter_than_call += each.end - each.start < call ? 1 : 0;
    }
    summary.count = static_cast<std::int64_t>(calls.size());
    summary.delay_p95 = quantileOf(delays, 0.95);
    summary.delay_median = median(std::move(delays));
    summary.call_median = median(std::move(calls));
    return summary;
}

DeviceSummary summarize(const Trace& trace, const DeviceKey& key, std::vector<Work> work, const LaunchOf& launch_of,
                        const SampledKernels& recorded) {
    std::ranges::sort(
        work, [](const Work& a, const Work& b) { return std::pair(a.start, a.slice) < std::pair(b.start, b.slice); });
    DeviceSummary device;
    device.name = deviceName(trace, key);
    device.first = work.front().start;
    device.last = std::ranges::max(work, {}, &Work::end).end;
    const WorkBySteps parts = recordedParts(work, recorded);
    device.times = timesOf(parts);
    device.idle = idleOf(parts, launch_of);
    device.launches = launchesOf(work, launch_of);

    device.kernels = kernelsOf(trace, work);
    const ComputeTime compute(work);
    std::map<TrackId, std::vector<Work>> streams;
    for (const Work& each : work) {
        streams[originalTrack(trace, trace.sliceTracks()[each.slice])].push_back(each);
        if (classOf(each.kind) == DeviceTimes::kCommunication)
            device.collectives.push_back(collectiveOf(trace, each, compute));
    }
    for (const auto& [track, of_stream] : streams) {
        StreamSummary stream;
        stream.name = threadName(trace, trace.tracks()[track], "stream");
        stream.count = static_cast<std::int64_t>(of_stream.size());
        const WorkBySteps in_stream = recordedParts(of_stream, recorded);
        const DeviceTimes times = timesOf(in_stream);
        stream.busy = times.span() - times.idle();
        stream.idle = idleOf(in_stream, launch_of);
        stream.most_queued = mostQueued(of_stream, launch_of);
        device.streams.push_back(std::move(stream));
    }
    std::vector<DeviceSummary> alone(1, std::move(device));
    std::vector<KernelTotals> kernels = joinedKernels(alone);
    std::vector<CollectiveTotals> collectives = joinedCollectives(alone);
    alone.front().kernels = std::move(kernels);
    alone.front().collectives = std::move(collectives);
    return std::move(alone.front());
}

// ---- Hosts ----

/// The self time of each of a track's slices.
HostSummary hostThread(const Trace& trace, const Track& track) {
    HostSummary thread;
    thread.thread = threadName(trace, track, "thread");
    thread.first = trace.start(track.first_slice);
    std::unordered_map<StringId, KernelTotals> by_name;
    struct Open {
        SliceId slice = kNoId;
        TimeNs inside{0};
    };
    std::vector<Open> open;
    const auto close = [&] {
        const auto [slice, inside] = open.back();
        open.pop_back();
        const TimeNs whole = trace.end(slice) - trace.start(slice);
        const TimeNs own = std::max(TimeNs{0}, whole - inside);
        by_name[trace.sliceNames()[slice]].add({{}, WorkKind::Compute, 1, own, own, own, trace.start(slice)});
        if (open.empty())
            thread.busy = boundedSum(thread.busy, whole);
        else
            open.back().inside = boundedSum(open.back().inside, whole);
    };
    for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
        while (!open.empty() && trace.end(open.back().slice) <= trace.start(slice))
            close();
        open.push_back({slice});
        thread.last = std::max(thread.last, trace.end(slice));
    }
    while (!open.empty())
        close();
    for (auto& [name, totals] : by_name) {
        totals.name = trace.text(name);
        thread.operators.push_back(std::move(totals));
    }
    std::ranges::sort(thread.operators, [](const KernelTotals& a, const KernelTotals& b) {
        return std::pair(b.total, a.name) < std::pair(a.total, b.name);
    });
    return thread;
}

} // namespace

Result<std::vector<FileActivity>> extractActivity(RawTrace& raw) {
    const Trace& trace = raw.trace();
    std::vector<FileActivity> files(raw.fileCount());
    std::vector<std::map<DeviceKey, std::vector<Work>>> devices(files.size());
    const std::vector<SampledKernels>& kernels = raw.sampledKernels();
    DeviceSlices on_device(trace);
    StopCheck stop(raw.control(), 1U << 12);
    for (SliceId slice = 0; on_device.any() && slice < trace.sliceCount(); ++slice) {
        if (stop.requested()) return files;
        if (!on_device.contains(slice) || trace.end(slice) < trace.start(slice)) continue;
        const TrackId track = trace.sliceTracks()[slice];
        if (!kernels[trace.tracks()[track].file].contain(trace.start(slice))) continue;
        devices[trace.tracks()[track].file][deviceOf(trace, track)].push_back(
            {trace.start(slice), trace.end(slice), slice, on_device.kind(slice)});
    }
    std::vector<std::vector<StepActivity>> steps = markedSteps(trace, raw.control());
    for (std::uint32_t file = 0; file < files.size(); ++file) {
        std::erase_if(steps[file],
                      [&](const StepActivity& step) { return !kernels[file].contain(step.start + step.duration / 2); });
        for (auto& [key, work] : devices[file]) {
            const LaunchOf launch_of(raw.gpu().launches(file, key.used_by));
            addTimes(steps[file], work);
            DeviceSummary& device =
                files[file].devices.emplace_back(summarize(trace, key, std::move(work), launch_of, kernels[file]));
            device.file = file;
            device.rank = raw.rankOf(file);
        }
    }
    for (const Track& track : trace.tracks()) {
        if (!files[track.file].devices.empty() || track.first_slice == track.end_slice || track.may_overlap) continue;
        if (trace.category(track.first_slice) == "Trace") continue; // Kineto's own span
        if (stop.requested()) return files;
        HostSummary& thread = files[track.file].threads.emplace_back(hostThread(trace, track));
        thread.file = track.file;
        thread.rank = raw.rankOf(track.file);
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
        std::ranges::stable_sort(files[i].threads, std::ranges::greater(), &HostSummary::busy);
        files[i].steps = std::move(steps[i]);
    }
    return files;
}

Result<std::vector<FileActivity>> activityOf(const LoadedTrace& loaded) {
    if (loaded.run.trace == nullptr) return std::vector<FileActivity>();
    RawTrace raw(loaded.run.trace, nullptr, loaded.gpu);
    return extract(raw, kActivity);
}

} // namespace bubblescope
