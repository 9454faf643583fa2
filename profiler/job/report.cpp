#include "profiler/job/report.h"

#include "core/formats/read_trace.h"
#include "core/trace/summary.h"
#include "profiler/capture/capture_file.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace bubblescope::profiler {
namespace {

namespace fs = std::filesystem;

/// Host, process id and start time, because a process may execute another program and ids are reused.
using Process = std::tuple<std::string, std::int64_t, std::int64_t>;
using Processes = std::map<Process, CapturedProcess>;

std::string words(const Trace& trace, ArgSetId args, std::string_view name) {
    return std::string(trace.textArg(args, name).value_or(""));
}

/// The process that wrote each file, according to the beginning of the file.
std::map<std::uint32_t, Process> writers(const Trace& trace, Processes& processes) {
    std::map<std::uint32_t, Process> of_file;
    for (const Instant& instant : trace.instants()) {
        if (trace.text(instant.category) != CaptureFile::kCategory || trace.text(instant.name) != CaptureFile::kBegins)
            continue;
        const std::uint32_t file = trace.tracks()[instant.track].file;
        const Process writer{words(trace, instant.args, "host"), trace.intArg(instant.args, "pid").value_or(0),
                             trace.intArg(instant.args, "began").value_or(0)};
        if (!of_file.emplace(file, writer).second) continue;
        CapturedProcess& process = processes[writer];
        process.host = std::get<0>(writer);
        process.pid = std::get<1>(writer);
        process.began = std::get<2>(writer);
        process.program = words(trace, instant.args, "program");
        process.rank = trace.intArg(instant.args, "rank");
        process.files.push_back(trace.files()[file].path);
    }
    return of_file;
}

void takeTotals(const Trace& trace, ArgSetId args, perfetto::CaptureCounts& counts) {
    for (const auto& [name, member] : perfetto::kCaptureCounts)
        counts.*member = std::max(counts.*member, trace.intArg(args, name).value_or(0)); // counts only grow
}

bool isOfRanges(std::string_view category) {
    return category == "nvtx" || category == perfetto::kPipelineCategory;
}

void readInstants(const Trace& trace, const std::map<std::uint32_t, Process>& of_file, Processes& processes) {
    for (const Instant& instant : trace.instants()) {
        const auto writer = of_file.find(trace.tracks()[instant.track].file);
        if (writer == of_file.end()) continue;
        CapturedProcess& process = processes[writer->second];
        if (isOfRanges(trace.text(instant.category))) ++process.readable.marks;
        if (trace.text(instant.category) != CaptureFile::kCategory) continue;
        if (trace.text(instant.name) == perfetto::kCaptureTotals) takeTotals(trace, instant.args, process.counts);
        if (trace.text(instant.name) == perfetto::kCaptureEnds) process.account = CapturedProcess::Account::Own;
        if (trace.text(instant.name) == perfetto::kCaptureRecovered) {
            process.account = CapturedProcess::Account::Watcher;
            if (const std::string signal = words(trace, instant.args, perfetto::kCaptureSignal); !signal.empty())
                process.messages.push_back("killed by " + signal);
        }
        if (trace.text(instant.name) == "message") process.messages.push_back(words(trace, instant.args, "message"));
    }
}

std::vector<std::string> linesOf(const fs::path& file) {
    std::vector<std::string> lines;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

bool holdsTraces(const fs::path& dir, std::error_code& failed) {
    for (fs::directory_iterator at(dir, failed), end; !failed && at != end; at.increment(failed)) {
        if (at->path().extension() == ".pftrace") return true;
    }
    return false;
}

Status readFiles(const fs::path& dir, JobControl& control, CaptureReport& report) {
    BUBBLESCOPE_ASSIGN(ReadTraces read, readTraces({dir}, control));
    const Trace& trace = *read.trace;
    Processes processes;
    const std::map<std::uint32_t, Process> of_file = writers(trace, processes);
    readInstants(trace, of_file, processes);
    const std::vector<FileSummary> files = summarize(trace);
    for (std::uint32_t number = 0; number < files.size(); ++number) {
        const auto writer = of_file.find(number);
        for (const auto& [category, count] : files[number].by_category) {
            report.slices[category] += count;
            if (writer == of_file.end()) continue;
            CapturedProcess& process = processes[writer->second];
            if (isOfRanges(category)) process.readable.ranges += count;
            if (category == "nccl") process.readable.comm_events += count;
        }
    }
    for (auto& [key, process] : processes)
        report.processes.push_back(std::move(process));
    report.problems = std::move(read.problems);
    return {};
}

CapturedProcess& processOf(const LeftByProcess& left, std::vector<CapturedProcess>& processes) {
    const ProcessInfo& info = left.described.process;
    const auto known = std::ranges::find_if(processes, [&](const CapturedProcess& process) {
        const bool same = left.unwatched || process.began == left.described.began.count(); // process ids are reused
        return same && process.pid == info.pid && process.host == info.host;
    });
    if (known != processes.end()) return *known;
    CapturedProcess& process = processes.emplace_back();
    process.host = info.host;
    process.pid = info.pid;
    process.program = info.program;
    process.began = left.described.began.count();
    if (left.described.identity.rank) process.rank = *left.described.identity.rank;
    return process;
}

bool statesNothing(const LeftByProcess& left) {
    return !left.unwatched && !left.gpu_unknown && left.stated.files == 0 && left.counts == perfetto::CaptureCounts();
}

/// Records that could be written are in the files already; the others are known only here.
void addLeft(const LeftByProcess& left, std::vector<CapturedProcess>& processes) {
    if (statesNothing(left)) return;
    CapturedProcess& process = processOf(left, processes);
    using Account = CapturedProcess::Account;
    if (left.unwatched) return; // the process's own counts apply, if it wrote them
    process.files_written = left.stated.files;
    process.gpu_unknown = left.gpu_unknown;
    if (left.regular || left.written) {
        process.account = left.regular ? Account::Own : Account::Watcher;
        for (const auto& [name, member] : perfetto::kCaptureCounts)
            process.counts.*member = std::max(process.counts.*member, left.stated.counts.*member);
        return;
    }
    process.account = Account::Watcher;
    process.counts = left.counts;
    if (!left.message.empty()) process.messages.push_back(left.message);
    if (!left.signal.empty()) process.messages.push_back("killed by " + left.signal);
}

/// Compares the files that processes report to have written with the existing ones.
void findMissing(std::vector<CapturedProcess>& processes) {
    for (CapturedProcess& process : processes) {
        process.files_missing =
            std::max<std::int64_t>(process.files_written - static_cast<std::int64_t>(process.files.size()), 0);
        if (process.counts.parts_removed > 0) continue; // the removed parts held an unknown number of events
        const auto missing = [&](std::int64_t stated, std::int64_t there) {
            return std::max<std::int64_t>(stated - there, 0);
        };
        process.unreadable = missing(process.counts.ranges, process.readable.ranges) +
                             missing(process.counts.marks, process.readable.marks) +
                             missing(process.counts.comm_events, process.readable.comm_events);
    }
}

} // namespace

Result<CaptureReport> reportCapture(const fs::path& dir, JobControl& control, std::span<const LeftByProcess> left) {
    CaptureReport report;
    report.log = linesOf(dir / "capture.log");
    std::error_code failed;
    const bool any = holdsTraces(dir, failed);
    const bool missing = failed == std::errc::no_such_file_or_directory; // the job's first event creates the folder
    if (failed && !missing && left.empty())
        return inputError(dir.string(), "cannot be read: " + failed.message(), "specify the folder of a recording");
    if (const Status read = any ? readFiles(dir, control, report) : Status(); !read.ok()) {
        if (left.empty()) return read.error();
        report.log.push_back(read.error().text()); // empty files, for example because a disk is full
    }
    for (const LeftByProcess& process : left)
        addLeft(process, report.processes);
    findMissing(report.processes);
    std::ranges::stable_sort(report.processes, {}, [](const CapturedProcess& process) {
        return std::tuple(!process.rank.has_value(), process.rank.value_or(0), process.host, process.pid);
    });
    return report;
}

} // namespace bubblescope::profiler
