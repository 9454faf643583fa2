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

using Process = std::pair<std::string, std::int64_t>; ///< host and number
using Processes = std::map<Process, CapturedProcess>;

std::string words(const Trace& trace, ArgSetId args, std::string_view name) {
    return std::string(trace.textArg(args, name).value_or(""));
}

/// Which process wrote each file, according to the beginnings of the files.
std::map<std::uint32_t, Process> writers(const Trace& trace, Processes& processes) {
    std::map<std::uint32_t, Process> of_file;
    for (const Instant& instant : trace.instants()) {
        if (trace.text(instant.category) != CaptureFile::kCategory || trace.text(instant.name) != CaptureFile::kBegins)
            continue;
        const std::uint32_t file = trace.tracks()[instant.track].file;
        const Process writer{words(trace, instant.args, "host"), trace.intArg(instant.args, "pid").value_or(0)};
        if (!of_file.emplace(file, writer).second) continue;
        CapturedProcess& process = processes[writer];
        process.host = writer.first;
        process.pid = writer.second;
        process.program = words(trace, instant.args, "program");
        process.rank = trace.intArg(instant.args, "rank");
        process.files.push_back(trace.files()[file].path);
    }
    return of_file;
}

void takeTotals(const Trace& trace, ArgSetId args, perfetto::CaptureCounts& counts) {
    for (const auto& [name, member] : perfetto::kCaptureCounts)
        counts.*member = std::max(counts.*member, trace.intArg(args, name).value_or(0)); // the counts only grow
}

void readInstants(const Trace& trace, Processes& processes) {
    const std::map<std::uint32_t, Process> of_file = writers(trace, processes);
    for (const Instant& instant : trace.instants()) {
        if (trace.text(instant.category) != CaptureFile::kCategory) continue;
        const auto writer = of_file.find(trace.tracks()[instant.track].file);
        if (writer == of_file.end()) continue;
        CapturedProcess& process = processes[writer->second];
        if (trace.text(instant.name) == perfetto::kCaptureTotals) takeTotals(trace, instant.args, process.counts);
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

} // namespace

Result<CaptureReport> reportCapture(const fs::path& dir, JobControl& control) {
    CaptureReport report;
    report.log = linesOf(dir / "capture.log");
    std::error_code failed;
    const bool any = holdsTraces(dir, failed);
    if (failed == std::errc::no_such_file_or_directory) return report; // the job's first event creates the folder
    if (failed)
        return inputError(dir.string(), "cannot be read: " + failed.message(), "name the folder of a recording");
    if (!any) return report;
    BUBBLESCOPE_ASSIGN(ReadTraces read, readTraces({dir}, control));
    const Trace& trace = *read.trace;
    Processes processes;
    readInstants(trace, processes);
    for (auto& [key, process] : processes)
        report.processes.push_back(std::move(process));
    std::ranges::stable_sort(report.processes, {}, [](const CapturedProcess& process) {
        return std::tuple(!process.rank.has_value(), process.rank.value_or(0), process.host, process.pid);
    });
    for (const FileSummary& file : summarize(trace)) {
        for (const auto& [category, count] : file.by_category)
            report.slices[category] += static_cast<std::int64_t>(count);
    }
    report.problems = std::move(read.problems);
    return report;
}

} // namespace bubblescope::profiler
