#include "core/recognise/gpu_work.h"

#include "core/base/job.h"
#include "core/base/text.h"
#include "core/trace/launches.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace bubblescope {
namespace {

template <std::size_t N>
std::vector<StringId> known(const Trace& trace, const std::array<std::string_view, N>& names) {
    std::vector<StringId> ids;
    for (const std::string_view name : names) {
        if (const StringId id = trace.strings().find(name); id != 0) ids.push_back(id);
    }
    return ids;
}

bool hasId(const std::vector<StringId>& ids, StringId id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The kind of a kernel that moves data between ranks.
WorkKind transferKind(const Trace& trace, SliceId slice) {
    // The metadata is exact, unlike names: an all-to-all has the name of a send and receive, and RCCL uses one name for
    // everything.
    if (const auto call = trace.textArg(trace.sliceArgs()[slice], "Collective name"); call && !call->empty()) {
        const bool point_to_point = *call == "send" || *call == "recv" || call->find("isend") != std::string::npos;
        return point_to_point ? WorkKind::PointToPoint : WorkKind::Collective;
    }
    const auto transfer = communicationKernel(trace.name(slice));
    return transfer ? transfer->kind : WorkKind::Collective;
}

/// The work that one launch started.
struct Started {
    WorkKind kind;
    SliceId first;
    GpuWork::Span work;
};

void add(Started& known, const Started& more) {
    const bool same = known.kind == more.kind;
    if (!same && known.kind <= more.kind) return; // compute takes precedence over copies, and copies over transfers
    if (!same) {
        known = more;
        return;
    }
    known.work.start = std::min(known.work.start, more.work.start);
    known.work.end = std::max(known.work.end, more.work.end);
}

// Host operators whose external id their kernels have.
constexpr std::array<std::string_view, 2> kOperatorCategories{"cpu_op", "Operator"};

std::optional<std::int64_t> externalIdOf(const Trace& trace, SliceId slice) {
    const ArgSetId args = trace.sliceArgs()[slice];
    if (const auto id = trace.intArg(args, "External id")) return id;
    return trace.intArg(args, "external id"); // those of 2021
}

using NumberOf = std::optional<std::int64_t> (*)(const Trace&, SliceId);

/// Links device work to the host call that launched it, by a number recorded for both.
class Ties {
public:
    using Launches = std::map<std::uint64_t, std::vector<GpuWork::Launch>>; ///< by process

    Ties(const Trace& trace, NumberOf number_of, const JobControl& control)
        : trace_(trace), number_of_(number_of), devices_(trace), stop_(control, 1U << 12) {} // one may parse args

    /// Reads the device's side, for processes that `wanted` accepts. One launch of a CUDA graph starts many kernels.
    template <class Wanted>
    void readDevice(const Wanted& wanted) {
        for (SliceId slice = 0; slice < trace_.sliceCount() && devices_.any(); ++slice) {
            if (stop_.requested()) return;
            if (!devices_.contains(slice)) continue;
            const std::uint64_t process = processKey(slice);
            const auto id = wanted(process) ? number_of_(trace_, slice) : std::nullopt;
            if (!id) continue;
            const Started started{devices_.kind(slice), slice, {trace_.start(slice), trace_.end(slice)}};
            const auto [place, is_new] = work_[process].try_emplace(*id, started);
            if (!is_new) add(place->second, started);
        }
    }

    /// The host's side.
    template <std::size_t N>
    [[nodiscard]] Launches launches(const std::array<std::string_view, N>& host_categories, bool calls) {
        Launches out;
        const std::vector<StringId> categories = known(trace_, host_categories);
        for (SliceId slice = 0; slice < trace_.sliceCount() && !work_.empty(); ++slice) {
            if (stop_.requested()) break;
            if (!hasId(categories, trace_.sliceCategories()[slice])) continue;
            const std::uint64_t process = processKey(slice);
            const auto of_process = work_.find(process);
            const auto id = of_process == work_.end() ? std::nullopt : number_of_(trace_, slice);
            if (!id) continue;
            const auto place = of_process->second.find(*id);
            if (place == of_process->second.end()) continue;
            const Started& started = place->second;
            out[process].push_back({process, trace_.start(slice), trace_.end(slice), calls, trace_.sliceTracks()[slice],
                                    GpuWork::threadOf(trace_, trace_.sliceTracks()[slice]), started.kind, started.first,
                                    started.work, GpuWork::deviceOf(trace_, trace_.sliceTracks()[started.first])});
        }
        return out;
    }

    [[nodiscard]] std::size_t workOf(std::uint64_t process) const {
        const auto of_process = work_.find(process);
        return of_process == work_.end() ? 0 : of_process->second.size();
    }

private:
    [[nodiscard]] std::uint64_t processKey(SliceId slice) const {
        const Track& track = trace_.tracks()[trace_.sliceTracks()[slice]];
        return GpuWork::key(track.file, GpuWork::processOf(trace_, track));
    }

    const Trace& trace_;
    NumberOf number_of_;
    DeviceSlices devices_;
    StopCheck stop_;
    std::map<std::uint64_t, std::unordered_map<std::int64_t, Started>> work_;
};

} // namespace

DeviceSlices::DeviceSlices(const Trace& trace)
    : trace_(trace), named_(trace.lanes().anyWork() ? trace.strings().size() : 0) {}

DeviceSlices::Named DeviceSlices::named(StringId name) {
    Named& known = named_[name];
    if (known == Named::Unknown) {
        const std::string_view text = trace_.text(name);
        known = communicationKernel(text) ? Named::Transfer : isCopyName(text) ? Named::Copy : Named::Compute;
    }
    return known;
}

WorkKind DeviceSlices::kind(SliceId slice) {
    const LaneKind lane = laneOf(slice);
    if (lane == LaneKind::Copy) return WorkKind::Copy;
    if (lane == LaneKind::Communication) return transferKind(trace_, slice);
    if (lane == LaneKind::Compute) return WorkKind::Compute;
    switch (named(trace_.sliceNames()[slice])) {
    case Named::Copy: return WorkKind::Copy;
    case Named::Transfer: return transferKind(trace_, slice);
    case Named::Unknown:
    case Named::Compute: break;
    }
    return WorkKind::Compute;
}

std::uint64_t GpuWork::key(std::uint32_t file, std::int64_t process) {
    return std::uint64_t{file} << 32 | (static_cast<std::uint64_t>(process) & 0xffffffffU);
}

std::int64_t GpuWork::deviceOf(const Trace& trace, TrackId id) {
    const Track& track = trace.tracks()[id];
    // "agent 4", and in exports of Nsight Systems "GPU 0 (process 9000)": their tracks have the process's number.
    const std::string_view called = trace.lanes().deviceOf(id);
    std::string_view name = called.empty() ? trace.text(track.process_name) : called;
    name.remove_prefix(std::min(name.find_first_of("0123456789"), name.size()));
    const bool named = !called.empty() || processOf(trace, track) != 0;
    return named ? takeNumber<std::int64_t>(name).value_or(0) : track.pid;
}

std::int64_t GpuWork::processOf(const Trace& trace, const Track& track) {
    return trace.files()[track.file].format == "nsys" ? track.pid : 0;
}

GpuWork::GpuWork(const Trace& trace, const JobControl& control) {
    Ties by_correlation(trace, correlationOf, control);
    by_correlation.readDevice([](std::uint64_t) { return true; });
    Ties::Launches launches = by_correlation.launches(kLaunchCategories, true);

    // If launches were not recorded, uses operators instead, which is less exact.
    Ties by_operator(trace, externalIdOf, control);
    by_operator.readDevice([&](std::uint64_t process) {
        const auto tied = launches.find(process);
        return tied == launches.end() || 2 * tied->second.size() < by_correlation.workOf(process);
    });
    for (auto& [process, of_operators] : by_operator.launches(kOperatorCategories, false)) {
        auto& tied = launches[process];
        if (of_operators.size() > tied.size()) tied = std::move(of_operators);
    }
    for (auto& [process, of_process] : launches)
        launches_.insert(launches_.end(), of_process.begin(), of_process.end());
    std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) {
        return std::tuple(a.process, a.time, a.first) < std::tuple(b.process, b.time, b.first);
    });
}

std::vector<GpuWork::Launch>::const_iterator GpuWork::firstFrom(std::uint64_t process, TimeNs time) const {
    return std::lower_bound(launches_.begin(), launches_.end(), std::tuple(process, time),
                            [](const Launch& launch, const std::tuple<std::uint64_t, TimeNs>& place) {
                                return std::tuple(launch.process, launch.time) < place;
                            });
}

std::span<const GpuWork::Launch> GpuWork::launches(std::uint32_t file, std::int64_t process) const {
    const std::uint64_t wanted = key(file, process);
    return {firstFrom(wanted, TimeNs::min()), firstFrom(wanted + 1, TimeNs::min())};
}

std::int64_t GpuWork::threadOf(const Trace& trace, TrackId id) {
    const Track* track = &trace.tracks()[id];
    if (track->tid == 0 && track->spilled_from != kNoId) track = &trace.tracks()[track->spilled_from];
    if (track->tid != 0) return track->tid;
    // Our own captures name it: "thread 11", "loader (thread 11)", "CUDA calls of thread 11".
    std::string_view name = trace.text(track->thread_name);
    constexpr std::string_view kThread = "thread ";
    const std::size_t at = name.rfind(kThread);
    if (at == std::string_view::npos) return 0;
    name.remove_prefix(at + kThread.size());
    return takeNumber<std::int64_t>(name).value_or(0);
}

std::map<std::int64_t, std::int64_t> GpuWork::helpersOf(std::uint32_t file, std::int64_t process,
                                                        const std::set<std::int64_t>& with_ops) const {
    std::map<std::int64_t, std::set<std::int64_t>> devices; // by thread
    for (const Launch& launch : launches(file, process))
        devices[launch.of_thread].insert(launch.device);
    std::map<std::int64_t, std::set<std::int64_t>> owners; // by device
    for (const auto& [thread, used] : devices) {
        if (used.size() == 1 && with_ops.contains(thread)) owners[*used.begin()].insert(thread);
    }
    std::map<std::int64_t, std::int64_t> helpers;
    for (const auto& [thread, used] : devices) {
        if (used.size() != 1 || with_ops.contains(thread)) continue;
        const auto owner = owners.find(*used.begin());
        if (owner != owners.end() && owner->second.size() == 1) helpers[thread] = *owner->second.begin();
    }
    return helpers;
}

const GpuWork::Launch* GpuWork::transferIn(std::uint32_t file, std::int64_t process, TimeNs from, TimeNs to,
                                           std::int64_t thread) const {
    const std::uint64_t wanted = key(file, process);
    for (auto launch = firstFrom(wanted, from);
         launch != launches_.end() && launch->process == wanted && launch->time <= to; ++launch) {
        if (launch->kind == WorkKind::PointToPoint && launch->of_thread == thread) return &*launch;
    }
    return nullptr;
}

std::optional<GpuWork::Work> GpuWork::launchedIn(std::uint32_t file, std::int64_t process, TimeNs from, TimeNs to,
                                                 const Threads& threads) const {
    const std::uint64_t wanted = key(file, process);
    std::optional<Work> work;
    std::vector<Span> on_device;
    std::map<std::int64_t, TimeNs> devices;
    for (auto launch = firstFrom(wanted, from);
         launch != launches_.end() && launch->process == wanted && launch->time <= to; ++launch) {
        if (!threads.count(launch->of_thread)) continue;
        on_device.push_back(launch->work);
        if (launch->kind > WorkKind::Copy) continue;
        if (!work) work = Work{launch->work.start, launch->work.end};
        devices[launch->device] += launch->work.end - launch->work.start;
        work->start = std::min(work->start, launch->work.start);
        work->end = std::max(work->end, launch->work.end);
    }
    if (!work) return std::nullopt;
    work->device = std::ranges::max_element(devices, {}, [](const auto& each) { return each.second; })->first;
    std::ranges::sort(on_device, {}, &Span::start); // streams run in parallel
    TimeNs covered = work->start;
    for (const Span& span : on_device) {
        const TimeNs begin = std::min(span.start, work->end);
        if (begin > covered) work->idle += begin - covered;
        covered = std::max(covered, std::min(span.end, work->end));
    }
    return work;
}

} // namespace bubblescope
