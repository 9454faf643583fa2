#include "core/report/results/devices.h"

#include "core/answer/answer.h"
#include "core/base/median.h"
#include "core/base/text.h"
#include "core/report/results/answer.h"
#include "core/report/results/document_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace bubblescope::report {
namespace {

constexpr std::size_t kMostRows = 16;    ///< maximum of ranks and streams, in a terminal
constexpr std::size_t kMostKernels = 12; ///< in a terminal

Cell nameCell(const std::string& name) {
    std::string brief = shortKernelName(name);
    return brief == name ? Cell(name) : Cell(name).as(std::move(brief));
}

/// Activity of all files, by rank.
struct Activity {
    std::vector<DeviceSummary> devices;
    std::vector<HostSummary> threads;
    std::vector<std::pair<std::int64_t, StepActivity>> steps; ///< by rank

    explicit Activity(const std::vector<FileActivity>& files) {
        for (const FileActivity& file : files) {
            devices.insert(devices.end(), file.devices.begin(), file.devices.end());
            threads.insert(threads.end(), file.threads.begin(), file.threads.end());
            for (const StepActivity& step : file.steps) {
                const std::int64_t rank = !file.devices.empty()   ? file.devices.front().rank
                                          : !file.threads.empty() ? file.threads.front().rank
                                                                  : 0;
                steps.emplace_back(rank, step);
            }
        }
        const auto by_rank = [](const auto& a, const auto& b) { return a.rank < b.rank; };
        std::ranges::stable_sort(devices, by_rank);
        std::ranges::stable_sort(threads, by_rank);
        std::ranges::stable_sort(steps, {}, [](const auto& of_rank) { return of_rank.first; });
    }
};

// ---- Tables ----

Table devicesTable(const std::vector<DeviceSummary>& devices) {
    Table table({}, {shown("rank"), shown("device", Align::Left), shown("time"), shown("compute"),
                     shown("exposed communication"), shown("hidden"), shown("copies"), shown("idle"),
                     shown("waits for the host"), shown("launch delay")});
    table.reader = Reader::People;
    table.most_in_text = kMostRows;
    const auto part = [](TimeNs time, TimeNs whole) { return Cell(fractionOf(time, whole), Look::Percent); };
    for (const DeviceSummary& device : devices) {
        const DeviceTimes& times = device.times;
        const TimeNs span = times.span();
        const TimeNs communication = times.communication();
        table.row(device.rank, device.name, span, part(times.compute(), span), part(times.exposedCommunication(), span),
                  communication == TimeNs{0} ? Cell("-") : part(times.hiddenCommunication(), communication),
                  part(times.exposedMemory(), span), part(times.idle(), span), part(device.idle.host, span),
                  device.launches.count == 0 ? Cell("-") : Cell(device.launches.delay_median));
    }
    return table;
}

/// Marked steps, one file after another: wall time and device activity.
Table stepsTable(const Activity& activity) {
    Table table("device_steps",
                {column("rank", "rank"), column("index", "step"), column("wall_ns", "time"),
                 column("compute_ns", "compute"), column("exposed_communication_ns", "exposed communication"),
                 column("exposed_memory_ns", "copies"), column("idle_ns", "idle"), data("start_ns")});
    table.most_in_text = kMostRows;
    for (const auto& [rank, step] : activity.steps) {
        const DeviceTimes& times = step.times;
        const TimeNs span = times.span();
        const auto part = [&](TimeNs time) {
            return span == TimeNs{0} ? Cell(Value(time)).as("-") : Cell(time).as(formatPercent(fractionOf(time, span)));
        };
        table.row(rank, step.index, step.duration, part(times.compute()), part(times.exposedCommunication()),
                  part(times.exposedMemory()), part(times.idle()), step.start);
    }
    if (table.rows.empty()) table.reader = Reader::Programs;
    return table;
}

/// Such as "4 steps; the median takes 9.99 ms, the longest, step 12, 10.2 ms."
std::string stepsText(const Activity& activity) {
    std::vector<TimeNs> times;
    const StepActivity* longest = nullptr;
    for (const auto& [rank, step] : activity.steps) {
        times.push_back(step.duration);
        if (longest == nullptr || step.duration > longest->duration) longest = &step;
    }
    const std::size_t count = times.size();
    return fmt::format("{}; median {}, longest (step {}) {}.", pluralize(count, "step"),
                       formatTime(median(std::move(times))), longest->index, formatTime(longest->duration));
}

/// The kernels of devices, or the operators of hosts, which have no kind.
enum class Whose { Devices, Hosts };

Table kernelsTable(std::string key, const std::vector<KernelTotals>& kernels, TimeNs all,
                   Whose whose = Whose::Devices) {
    const bool hosts = whose == Whose::Hosts;
    Table table(std::move(key),
                {column("name", hosts ? "operator" : "kernel", Align::Left), column("kind", "kind", Align::Left),
                 column("count", "count"), column("total_ns", "total"), shown("of all"), column("mean_ns", "mean"),
                 column("shortest_ns", "shortest"), column("longest_ns", "longest"), data("longest_at_ns"),
                 data("deviation_ns")});
    table.columns[1].hidden = hosts;
    table.most_in_text = kMostKernels;
    for (const KernelTotals& kernel : kernels) {
        table.row(nameCell(kernel.name), hosts ? absent() : Cell(workKindName(kernel.kind)), kernel.count, kernel.total,
                  Cell(fractionOf(kernel.total, all), Look::Percent), kernel.mean(), kernel.shortest, kernel.longest,
                  kernel.longest_at, kernel.deviationNs());
    }
    return table;
}

Table collectivesTable(std::string key, const std::vector<CollectiveTotals>& collectives) {
    Table table(std::move(key),
                {column("name", "transfer", Align::Left), column("group", "group", Align::Left),
                 column("group_size", "ranks"), column("count", "count"), column("bytes", "bytes"),
                 column("total_ns", "total"), column("exposed_ns", "exposed"), column("longest_ns", "longest"),
                 column("best_bus_bytes_per_s", "best bus bandwidth")});
    table.most_in_text = kMostKernels;
    for (const CollectiveTotals& each : collectives) {
        const bool sized = each.bytes > 0;
        table.row(nameCell(each.name), each.group, each.group_size > 0 ? Cell(each.group_size) : Cell(Value()).as("-"),
                  each.count, sized ? Cell(each.bytes, Look::Bytes) : Cell(Value()).as("-"), each.total, each.exposed,
                  each.longest,
                  sized ? Cell(each.best_bandwidth).as(fmt::format("{:.1f} GB/s", each.best_bandwidth * 1e-9))
                        : Cell(Value()).as("-"));
    }
    return table;
}

Table threadsTable(const std::vector<HostSummary>& threads) {
    Table table({}, {shown("rank"), shown("thread", Align::Left), shown("time"), shown("busy")});
    table.reader = Reader::People;
    table.most_in_text = kMostRows;
    for (const HostSummary& thread : threads) {
        const TimeNs span = thread.last - thread.first;
        table.row(thread.rank, thread.thread, span, Cell(fractionOf(thread.busy, span), Look::Percent));
    }
    return table;
}

// ---- For programs ----

Section idleData(const IdleTimes& idle) {
    Section section;
    section.key = "idle";
    section.data("host_ns", idle.host);
    section.data("gaps_ns", idle.gaps);
    section.data("other_ns", idle.other);
    return section;
}

Section deviceData(const DeviceSummary& device) {
    const DeviceTimes& times = device.times;
    Section section;
    section.data("file", device.file);
    section.data("rank", device.rank);
    section.data("device", device.name);
    section.data("first_ns", device.first);
    section.data("last_ns", device.last);
    section.data("span_ns", times.span());
    section.data("compute_ns", times.compute());
    section.data("communication_ns", times.communication());
    section.data("exposed_communication_ns", times.exposedCommunication());
    section.data("memory_ns", times.memory());
    section.data("exposed_memory_ns", times.exposedMemory());
    section.data("idle_ns", times.idle());
    section.add(idleData(device.idle));
    const LaunchSummary& launches = device.launches;
    section.data("launches", Value::Object{{"count", launches.count},
                                           {"call_median_ns", launches.call_median},
                                           {"delay_median_ns", launches.delay_median},
                                           {"delay_p95_ns", launches.delay_p95},
                                           {"delay_longest_ns", launches.delay_longest},
                                           {"shorter_than_call", launches.shorter_than_call}});
    Sections streams;
    streams.key = "streams";
    for (const StreamSummary& stream : device.streams) {
        Section& each = streams.list.emplace_back();
        each.data("name", stream.name);
        each.data("count", stream.count);
        each.data("busy_ns", stream.busy);
        each.add(idleData(stream.idle));
        each.data("most_queued", stream.most_queued);
    }
    section.add(std::move(streams));
    section.add(kernelsTable("kernels", device.kernels, times.span()));
    section.add(collectivesTable("collectives", device.collectives));
    return section;
}

Section threadData(const HostSummary& thread) {
    Section section;
    section.data("file", thread.file);
    section.data("rank", thread.rank);
    section.data("thread", thread.thread);
    section.data("first_ns", thread.first);
    section.data("last_ns", thread.last);
    section.data("busy_ns", thread.busy);
    section.add(kernelsTable("operators", thread.operators, thread.busy, Whose::Hosts));
    return section;
}

template <class Item, class Of>
Sections listOf(std::string key, const std::vector<Item>& items, Of of) {
    Sections sections;
    sections.key = std::move(key);
    sections.reader = Reader::Programs;
    for (const Item& item : items)
        sections.list.push_back(of(item));
    return sections;
}

/// Omits the list of expected and found names, which would fill a screen.
std::string reasonText(const Error& error) {
    const std::string reason =
        fmt::format("No pipeline was found ({})", error.message.substr(0, error.message.find(':')));
    return error.hint.empty() ? reason + "." : fmt::format("{}. If the trace contains one: {}.", reason, error.hint);
}

Section traceOf(const Run& run, std::size_t files) {
    Section trace;
    trace.key = "trace";
    trace.data("files", filesOf(run.files));
    trace.data("format", run.format);
    trace.data("ranks", files);
    trace.data("slices", run.slices);
    trace.data("span_ns", run.span);
    trace.add(problemsTable(run.problems, Reader::Programs));
    return trace;
}

void addForDevices(Document& document, const std::vector<DeviceSummary>& devices,
                   const std::vector<CollectiveTotals>& collectives) {
    Section time;
    time.heading = "Device time by use";
    time.add(devicesTable(devices));
    document.add(std::move(time));
    Section longest;
    longest.heading = devices.size() == 1 ? "The longest kernels" : "The longest kernels, over all devices";
    const std::vector<KernelTotals> kernels = joinedKernels(devices);
    TimeNs all{0};
    for (const DeviceSummary& device : devices)
        all = boundedSum(all, device.times.span());
    longest.add(kernelsTable({}, kernels, all)).reader = Reader::People;
    document.add(std::move(longest));
    if (collectives.empty()) return;
    Section transfers;
    transfers.heading = "Transfers between ranks";
    transfers.add(collectivesTable({}, collectives)).reader = Reader::People;
    document.add(std::move(transfers));
}

void addForThreads(Document& document, const std::vector<HostSummary>& threads) {
    Section time;
    time.heading = "Where the threads' time went";
    time.add(threadsTable(threads));
    document.add(std::move(time));
    std::map<std::string_view, KernelTotals> by_name;
    TimeNs all{0};
    for (const HostSummary& thread : threads) {
        all = boundedSum(all, thread.busy);
        for (const KernelTotals& each : thread.operators)
            by_name[each.name].add(each);
    }
    std::vector<KernelTotals> operators;
    for (auto& [name, totals] : by_name)
        operators.push_back(std::move(totals));
    std::ranges::stable_sort(operators, std::ranges::greater(), &KernelTotals::total);
    Section longest;
    longest.heading = "The longest operators, excluding nested ones";
    Table& table = longest.add(kernelsTable({}, operators, all, Whose::Hosts));
    table.reader = Reader::People;
    document.add(std::move(longest));
}

DataTable deviceTable(const Activity& activity) {
    DataTable out({{"rank", ColumnType::Int32},
                   {"device", ColumnType::Text},
                   {"first_ns", ColumnType::Int64},
                   {"last_ns", ColumnType::Int64},
                   {"compute_ns", ColumnType::Int64},
                   {"communication_ns", ColumnType::Int64},
                   {"exposed_communication_ns", ColumnType::Int64},
                   {"memory_ns", ColumnType::Int64},
                   {"exposed_memory_ns", ColumnType::Int64},
                   {"idle_ns", ColumnType::Int64},
                   {"idle_host_ns", ColumnType::Int64},
                   {"idle_gaps_ns", ColumnType::Int64},
                   {"idle_other_ns", ColumnType::Int64},
                   {"launches", ColumnType::Int64},
                   {"launch_delay_median_ns", ColumnType::Int64},
                   {"launch_delay_p95_ns", ColumnType::Int64},
                   {"launch_delay_longest_ns", ColumnType::Int64}});
    for (const DeviceSummary& device : activity.devices) {
        const DeviceTimes& times = device.times;
        out.row(device.rank, device.name, device.first, device.last, times.compute(), times.communication(),
                times.exposedCommunication(), times.memory(), times.exposedMemory(), times.idle(), device.idle.host,
                device.idle.gaps, device.idle.other, device.launches.count, device.launches.delay_median,
                device.launches.delay_p95, device.launches.delay_longest);
    }
    return out;
}

DataTable streamTable(const Activity& activity) {
    DataTable out({{"rank", ColumnType::Int32},
                   {"device", ColumnType::Text},
                   {"stream", ColumnType::Text},
                   {"count", ColumnType::Int64},
                   {"busy_ns", ColumnType::Int64},
                   {"idle_host_ns", ColumnType::Int64},
                   {"idle_gaps_ns", ColumnType::Int64},
                   {"idle_other_ns", ColumnType::Int64},
                   {"most_queued", ColumnType::Int64}});
    for (const DeviceSummary& device : activity.devices) {
        for (const StreamSummary& stream : device.streams) {
            out.row(device.rank, device.name, stream.name, stream.count, stream.busy, stream.idle.host,
                    stream.idle.gaps, stream.idle.other, stream.most_queued);
        }
    }
    return out;
}

/// Kernels of devices, or otherwise operators of threads.
DataTable kernelTable(const Activity& activity) {
    DataTable out({{"rank", ColumnType::Int32},
                   {"where", ColumnType::Text},
                   {"name", ColumnType::Text},
                   {"kind", ColumnType::Text},
                   {"count", ColumnType::Int64},
                   {"total_ns", ColumnType::Int64},
                   {"mean_ns", ColumnType::Int64},
                   {"shortest_ns", ColumnType::Int64},
                   {"longest_ns", ColumnType::Int64},
                   {"longest_at_ns", ColumnType::Int64},
                   {"deviation_ns", ColumnType::Float64}});
    const auto write = [&](std::int64_t rank, const std::string& where, const KernelTotals& each,
                           std::string_view kind) {
        out.row(rank, where, each.name, kind, each.count, each.total, each.mean(), each.shortest, each.longest,
                each.longest_at, each.deviationNs());
    };
    for (const DeviceSummary& device : activity.devices) {
        for (const KernelTotals& each : device.kernels)
            write(device.rank, device.name, each, workKindName(each.kind));
    }
    for (const HostSummary& thread : activity.threads) {
        for (const KernelTotals& each : thread.operators)
            write(thread.rank, thread.thread, each, "host");
    }
    return out;
}

DataTable transferTable(const Activity& activity) {
    DataTable out({{"rank", ColumnType::Int32},
                   {"device", ColumnType::Text},
                   {"name", ColumnType::Text},
                   {"group", ColumnType::Text},
                   {"group_size", ColumnType::Int64},
                   {"count", ColumnType::Int64},
                   {"bytes", ColumnType::Int64},
                   {"total_ns", ColumnType::Int64},
                   {"exposed_ns", ColumnType::Int64},
                   {"longest_ns", ColumnType::Int64},
                   {"best_bus_bytes_per_s", ColumnType::Float64}});
    for (const DeviceSummary& device : activity.devices) {
        for (const CollectiveTotals& each : device.collectives) {
            out.row(device.rank, device.name, each.name, each.group, each.group_size, each.count, each.bytes,
                    each.total, each.exposed, each.longest, each.best_bandwidth);
        }
    }
    return out;
}

DataTable stepTable(const Activity& activity) {
    DataTable out({{"rank", ColumnType::Int32},
                   {"step", ColumnType::Int64},
                   {"start_ns", ColumnType::Int64},
                   {"wall_ns", ColumnType::Int64},
                   {"compute_ns", ColumnType::Int64},
                   {"communication_ns", ColumnType::Int64},
                   {"exposed_communication_ns", ColumnType::Int64},
                   {"exposed_memory_ns", ColumnType::Int64},
                   {"idle_ns", ColumnType::Int64}});
    for (const auto& [rank, step] : activity.steps) {
        const DeviceTimes& times = step.times;
        out.row(rank, step.index, step.start, step.duration, times.compute(), times.communication(),
                times.exposedCommunication(), times.exposedMemory(), times.idle());
    }
    return out;
}

} // namespace

bool showsActivity(const std::vector<FileActivity>& files) {
    return std::ranges::any_of(files,
                               [](const FileActivity& file) { return !file.devices.empty() || !file.threads.empty(); });
}

Document activitySummary(const LoadedTrace& trace, const std::vector<FileActivity>& files) {
    Document document;
    addAnswer(document, answerOf(trace, files));
    document.data("schedule", Value());
    document.data("no_pipeline", trace.no_pipeline ? Value(trace.no_pipeline->message) : Value());
    return document;
}

Document activityDocument(const LoadedTrace& trace, const std::vector<FileActivity>& files,
                          const std::string& version) {
    const Activity activity(files);
    const Run& run = trace.run;
    const bool hosts = activity.devices.empty();
    Document document;
    document.title = "Device activity";
    document.subtitle =
        fmt::format("{}: {}, {}, {} slices, {}", filesText(run.files), run.format,
                    hosts ? pluralize(activity.threads.size(), "thread") : pluralize(activity.devices.size(), "device"),
                    run.slices, formatTime(run.span));
    document.foot = fmt::format("Bubblescope {}", version);
    addAnswer(document, answerOf(trace, files));
    document.line("", Reader::Text);
    document.line(document.subtitle, Reader::Text);
    if (trace.no_pipeline) document.paragraph("", reasonText(*trace.no_pipeline));
    document.add(traceOf(run, files.size()));
    document.data("schedule", Value());
    document.data("no_pipeline", trace.no_pipeline ? Value(trace.no_pipeline->message) : Value());
    if (hosts)
        addForThreads(document, activity.threads);
    else
        addForDevices(document, activity.devices, joinedCollectives(activity.devices));
    Section steps;
    if (!activity.steps.empty()) {
        steps.heading = "The steps";
        steps.line(stepsText(activity));
    }
    steps.add(stepsTable(activity));
    document.add(std::move(steps));
    document.add(listOf("devices", activity.devices, deviceData));
    document.add(listOf("threads", activity.threads, threadData));
    return document;
}

std::vector<AnalysisTable> activityTables(const std::vector<FileActivity>& files) {
    const auto activity = std::make_shared<const Activity>(files);
    return {{"devices", [activity] { return deviceTable(*activity); }},
            {"streams", [activity] { return streamTable(*activity); }},
            {"kernels", [activity] { return kernelTable(*activity); }},
            {"transfers", [activity] { return transferTable(*activity); }},
            {"device-steps", [activity] { return stepTable(*activity); }}};
}

} // namespace bubblescope::report
