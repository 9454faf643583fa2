#pragma once

#include "core/analysis/devices/device_times.h"
#include "core/analysis/devices/step_activity.h"
#include "core/recognise/raw_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The device work in a trace, with or without a pipeline. Terms are those of HolisticTraceAnalysis, so that numbers can
// be compared. Compute is time with at least one kernel that does not transfer data between ranks. Communication is
// time with at least one kernel that does transfer data between ranks (core/recognise/communication.h). Memory is time
// with at least one copy or memset. Between its first and last piece of work, a device that runs none of these is idle.
// Unlike in HolisticTraceAnalysis, synchronisation is not work.
namespace bubblescope {

/// Idle time, by the cause that delayed the next piece of work.
struct IdleTimes {
    TimeNs host{0};  ///< the host launched the next work after the previous work had ended
    TimeNs gaps{0};  ///< shorter than kShortGap: time that the device needs between kernels
    TimeNs other{0}; ///< the launch was early enough or is unknown: waits for events, other streams or other devices

    [[nodiscard]] TimeNs total() const { return host + gaps + other; }
};
/// Idle times below this limit are gaps, others are waits, as in HolisticTraceAnalysis.
inline constexpr TimeNs kShortGap{30'000};

/// All instances of one kernel or copy on a device.
struct KernelTotals {
    std::string name;
    WorkKind kind = WorkKind::Compute;
    std::int64_t count = 0;
    TimeNs total{0};
    TimeNs shortest{0};
    TimeNs longest{0};
    TimeNs longest_at{0};     ///< start of the longest instance
    double square_sum_ns = 0; ///< sum of squared deviations of the durations from their mean

    [[nodiscard]] TimeNs mean() const { return TimeNs{count == 0 ? 0 : total.count() / count}; }
    [[nodiscard]] double deviationNs() const; ///< sample standard deviation, as in pandas; 0 for one instance
    /// Adds the instances of another kernel as if they were instances of this one.
    void add(const KernelTotals& other);
};

/// Shortens a kernel's name to at most 60 bytes. Kernel names are template signatures with hundreds of characters. They
/// differ at the front and in the template arguments, which precede the function's arguments.
[[nodiscard]] std::string shortKernelName(std::string_view name);

/// Transfers of one kind between ranks, as recorded by the profiler.
struct CollectiveTotals {
    std::string name;            ///< "allreduce"; the kernel's name if nothing else was recorded
    std::string group;           ///< description or name of the process group; may be empty
    std::int64_t group_size = 0; ///< 0 if unknown
    std::int64_t count = 0;
    std::int64_t bytes = 0; ///< total bytes, using the larger of input and output per transfer; 0 = not recorded
    TimeNs total{0};
    TimeNs exposed{0}; ///< time during which the device did not compute
    TimeNs longest{0};
    /// The highest bus bandwidth of an instance, in bytes per second. Instances that waited for other ranks have a
    /// lower bandwidth. 0 if sizes were not recorded. See busBytes().
    double best_bandwidth = 0;
};

/// Number of bytes that each rank's link carries for a transfer of this size. Divided by the time, this number gives
/// the bus bandwidth as defined by nccl-tests. It is the size times 2 (n - 1) / n for an all-reduce, times (n - 1) / n
/// for an all-gather, a reduce-scatter or an all-to-all, and the size itself otherwise.
[[nodiscard]] double busBytes(std::string_view collective, std::int64_t group_size, std::int64_t bytes);

struct StreamSummary {
    std::string name;
    std::int64_t count = 0; ///< number of kernels, copies and memsets
    TimeNs busy{0};
    IdleTimes idle;               ///< between them
    std::int64_t most_queued = 0; ///< maximum number launched but not yet started; 0 if launches were not recorded
};

/// The host calls that launched work, and the delay until the work started.
struct LaunchSummary {
    std::int64_t count = 0;
    TimeNs call_median{0};
    TimeNs delay_median{0}; ///< median time from call to work; 0 if the work started
                            ///< earlier
    TimeNs delay_p95{0};
    TimeNs delay_longest{0};
    std::int64_t shorter_than_call = 0; ///< number of launches whose work took less time than the launch call
};

struct DeviceSummary {
    std::uint32_t file = 0; ///< index in the trace
    std::int64_t rank = 0;  ///< rank that wrote the file
    std::string name;       ///< "GPU 0"
    TimeNs first{0};
    TimeNs last{0};
    DeviceTimes times;
    IdleTimes idle;                            ///< idle times of the device across all streams
    std::vector<KernelTotals> kernels;         ///< longest total first
    std::vector<CollectiveTotals> collectives; ///< longest total first
    std::vector<StreamSummary> streams;
    LaunchSummary launches;
};

/// The time of a host thread in a file without device work.
struct HostSummary {
    std::uint32_t file = 0;
    std::int64_t rank = 0;
    std::string thread;
    TimeNs first{0};
    TimeNs last{0};
    TimeNs busy{0};
    /// Sorted by the operator's self time, longest first.
    std::vector<KernelTotals> operators;
};

/// The content of one file: its devices, or the threads of its host if there is no device.
struct FileActivity {
    std::vector<DeviceSummary> devices;
    std::vector<HostSummary> threads;
    std::vector<StepActivity> steps; ///< steps marked by the profiler or framework, by start
};

/// One entry per file. O(n log n) in the number of device slices.
[[nodiscard]] Result<std::vector<FileActivity>> extractActivity(RawTrace& raw);
inline constexpr Extractor<FileActivity> kActivity{"activity", extractActivity};

/// The activity in a trace without a pipeline, computed from the device work that recognition found.
[[nodiscard]] Result<std::vector<FileActivity>> activityOf(const LoadedTrace& loaded);

/// The step with the median length among all steps marked in any file; empty if there are none.
[[nodiscard]] std::optional<StepActivity> typicalStep(const std::vector<FileActivity>& files);

/// The kernels of several devices, merged by name and sorted by total time, longest first.
[[nodiscard]] std::vector<KernelTotals> joinedKernels(const std::vector<DeviceSummary>& devices);
/// The transfers of several devices, merged, sorted by total time, longest first; `exposed` and `total` are sums.
[[nodiscard]] std::vector<CollectiveTotals> joinedCollectives(const std::vector<DeviceSummary>& devices);

// Serialization in extracts; see core/recognise/extract_values.h.
template <class Wire>
void fields(Wire& wire, IdleTimes& value) {
    auto& [host, gaps, other] = value;
    wire.duration(host, gaps, other);
}
template <class Wire>
void fields(Wire& wire, KernelTotals& value) {
    auto& [name, kind, count, total, shortest, longest, longest_at, square_sum] = value;
    wire(name, count, square_sum);
    wire.enumeration(kind, WorkKind::PointToPoint);
    wire.duration(total, shortest, longest);
    wire.instant(longest_at);
}
template <class Wire>
void fields(Wire& wire, CollectiveTotals& value) {
    auto& [name, group, group_size, count, bytes, total, exposed, longest, bandwidth] = value;
    wire(name, group, group_size, count, bytes, bandwidth);
    wire.duration(total, exposed, longest);
}
template <class Wire>
void fields(Wire& wire, StreamSummary& value) {
    auto& [name, count, busy, idle, most_queued] = value;
    wire(name, count, idle, most_queued);
    wire.duration(busy);
}
template <class Wire>
void fields(Wire& wire, LaunchSummary& value) {
    auto& [count, call_median, delay_median, delay_p95, delay_longest, shorter_than_call] = value;
    wire(count, shorter_than_call);
    wire.duration(call_median, delay_median, delay_p95, delay_longest);
}
template <class Wire>
void fields(Wire& wire, DeviceSummary& value) {
    auto& [file, rank, name, first, last, times, idle, kernels, collectives, streams, launches] = value;
    wire(rank, name, times, idle, kernels, collectives, streams, launches); // the reader sets the file index
    wire.span(first, last);
}
template <class Wire>
void fields(Wire& wire, HostSummary& value) {
    auto& [file, rank, thread, first, last, busy, operators] = value;
    wire(rank, thread, operators);
    wire.span(first, last);
    wire.duration(busy);
}
template <class Wire>
void fields(Wire& wire, StepActivity& value) {
    auto& [index, start, duration, times] = value;
    wire(index, times);
    wire.instant(start);
    wire.duration(duration);
}
template <class Wire>
void fields(Wire& wire, FileActivity& value) {
    auto& [devices, threads, steps] = value;
    wire(devices, threads, steps);
}
inline void moveTo(std::uint32_t file, std::int64_t rank, FileActivity& value) {
    const auto place = [&](auto& part) {
        part.file = file;
        part.rank = rank;
    };
    std::ranges::for_each(value.devices, place);
    std::ranges::for_each(value.threads, place);
}

} // namespace bubblescope
