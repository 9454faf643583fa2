#include "core/recognise/gpu_work.h"

#include "core/base/stoppable.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace bubblescope {
namespace {

// As Kineto names them today, for accelerators of every make, and in 2021, and as Paddle does.
constexpr std::array<std::string_view, 11> kLaunchCategories{
    "cuda_runtime", "cuda_driver", "hip_runtime", "mtia_runtime",        "xpu_runtime",       "xpu_driver",
    "glow_runtime", "CudaRuntime", "Runtime",     "privateuse1_runtime", "privateuse1_driver"};
constexpr std::array<std::string_view, 4> kKernelCategories{"kernel", "Kernel", "mtia_ccp_events", "hpu_op"};
constexpr std::array<std::string_view, 8> kDeviceCategories{"kernel",     "Kernel", "mtia_ccp_events", "hpu_op",
                                                            "gpu_memcpy", "Memcpy", "gpu_memset",      "Memset"};

template <std::size_t N>
std::vector<StringId> known(const Trace& trace, const std::array<std::string_view, N>& names) {
    std::vector<StringId> ids;
    for (const std::string_view name : names) {
        if (const StringId id = trace.strings().find(name); id != 0) ids.push_back(id);
    }
    return ids;
}

bool contains(const std::vector<StringId>& ids, StringId id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

WorkKind workKind(const Trace& trace, SliceId slice) {
    const std::string_view category = trace.category(slice);
    if (std::find(kKernelCategories.begin(), kKernelCategories.end(), category) == kKernelCategories.end())
        return WorkKind::Copy;
    const std::string_view name = trace.name(slice);
    if (!movesBetweenRanks(name)) return WorkKind::Compute;
    // An all-to-all runs under the name of a send and receive, and RCCL has one name for all: the metadata knows.
    if (const auto call = trace.textArg(trace.sliceArgs()[slice], "Collective name"); call && !call->empty()) {
        const bool point_to_point = *call == "send" || *call == "recv" || call->find("isend") != std::string::npos;
        return point_to_point ? WorkKind::PointToPoint : WorkKind::Collective;
    }
    return name.find("SendRecv") != std::string_view::npos ? WorkKind::PointToPoint : WorkKind::Collective;
}

/// What one launch started.
struct Started {
    WorkKind kind;
    SliceId first;
    GpuWork::Span work;
};

void add(Started& known, const Started& more) {
    const bool same = known.kind == more.kind;
    if (!same && known.kind <= more.kind) return; // compute before copies, those before transfers
    if (!same) {
        known = more;
        return;
    }
    known.work.start = std::min(known.work.start, more.work.start);
    known.work.end = std::max(known.work.end, more.work.end);
}

std::optional<std::int64_t> correlationOf(const Trace& trace, SliceId slice) {
    const ArgSetId args = trace.sliceArgs()[slice];
    if (const auto id = trace.intArg(args, "correlation")) return id;
    return trace.intArg(args, "correlation id"); // Paddle's
}

} // namespace

bool movesBetweenRanks(std::string_view kernel) {
    return kernel.find("nccl") != std::string_view::npos || kernel.find("rccl") != std::string_view::npos;
}

std::uint64_t GpuWork::key(std::uint32_t file, std::int64_t process) {
    return std::uint64_t{file} << 32 | (static_cast<std::uint64_t>(process) & 0xffffffffU);
}

std::int64_t GpuWork::processOf(const Trace& trace, const Track& track) {
    return trace.files()[track.file].format == "nsys" ? track.pid : 0;
}

GpuWork::GpuWork(const Trace& trace, const JobControl& control) {
    const std::vector<StringId> launch_categories = known(trace, kLaunchCategories);
    const std::vector<StringId> device_categories = known(trace, kDeviceCategories);
    if (launch_categories.empty() || device_categories.empty()) return;

    const auto processKey = [&](SliceId slice) {
        const Track& track = trace.tracks()[trace.sliceTracks()[slice]];
        return key(track.file, processOf(trace, track));
    };
    StopCheck stop(control, 1U << 12); // a round may parse args
    // One launch of a CUDA graph starts many kernels.
    std::map<std::uint64_t, std::unordered_map<std::int64_t, Started>> work;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (stop.requested()) return;
        if (!contains(device_categories, trace.sliceCategories()[slice])) continue;
        const auto id = correlationOf(trace, slice);
        if (!id) continue;
        const Started started{workKind(trace, slice), slice, {trace.start(slice), trace.end(slice)}};
        const auto [place, is_new] = work[processKey(slice)].try_emplace(*id, started);
        if (!is_new) add(place->second, started);
    }
    for (SliceId slice = 0; slice < trace.sliceCount() && !work.empty(); ++slice) {
        if (stop.requested()) return;
        if (!contains(launch_categories, trace.sliceCategories()[slice])) continue;
        const std::uint64_t process = processKey(slice);
        const auto of_process = work.find(process);
        const auto id = of_process == work.end() ? std::nullopt : correlationOf(trace, slice);
        if (!id) continue;
        const auto place = of_process->second.find(*id);
        if (place == of_process->second.end()) continue;
        const Started& started = place->second;
        launches_.push_back(
            {process, trace.start(slice), trace.sliceTracks()[slice], started.kind, started.first, started.work});
    }
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

std::optional<GpuWork::Work> GpuWork::launchedIn(std::uint32_t file, std::int64_t process, TimeNs from,
                                                 TimeNs to) const {
    const std::uint64_t wanted = key(file, process);
    std::optional<Work> work;
    std::vector<Span> on_device;
    for (auto launch = firstFrom(wanted, from);
         launch != launches_.end() && launch->process == wanted && launch->time <= to; ++launch) {
        on_device.push_back(launch->work);
        if (launch->kind > WorkKind::Copy) continue;
        if (!work) work = Work{launch->work.start, launch->work.end};
        work->start = std::min(work->start, launch->work.start);
        work->end = std::max(work->end, launch->work.end);
    }
    if (!work) return std::nullopt;
    std::ranges::sort(on_device, {}, &Span::start); // streams run side by side
    TimeNs covered = work->start;
    for (const Span& span : on_device) {
        const TimeNs begin = std::min(span.start, work->end);
        if (begin > covered) work->idle += begin - covered;
        covered = std::max(covered, std::min(span.end, work->end));
    }
    return work;
}

} // namespace bubblescope
