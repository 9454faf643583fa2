#include "app/cli/capture_output.h"

#include "core/base/bytes.h"
#include "core/base/shell_word.h"
#include "core/base/visible.h"
#include "core/report/results/document_parts.h"

#include <fmt/format.h>

#include <utility>

namespace bubblescope::cli {
namespace {

using perfetto::CaptureCounts;
using profiler::CapturedProcess;

std::string_view pluralS(std::int64_t count) {
    return count == 1 ? "" : "s";
}

std::int64_t lossesOf(const CapturedProcess& process) {
    const perfetto::CaptureCounts& counts = process.counts;
    std::int64_t sum = process.unreadable;
    for (std::size_t i = perfetto::kFirstLoss; i < perfetto::kCaptureCounts.size(); ++i)
        sum += counts.*perfetto::kCaptureCounts[i].second;
    return sum;
}

/// Lists all kinds of loss, because each has a different cause: "3 lost_in_rings, 1 untimed".
std::string countedLosses(const CapturedProcess& process) {
    const perfetto::CaptureCounts& counts = process.counts;
    std::string text;
    if (process.files_missing > 0)
        text = fmt::format("{} file{}", process.files_missing, pluralS(process.files_missing));
    if (process.unreadable > 0) text += fmt::format("{}{} unreadable", text.empty() ? "" : ", ", process.unreadable);
    for (std::size_t i = perfetto::kFirstLoss; i < perfetto::kCaptureCounts.size(); ++i) {
        const auto& [name, member] = perfetto::kCaptureCounts[i];
        if (counts.*member != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts.*member, name);
    }
    return text.empty() ? "nothing" : text;
}

/// Starts with "at least" for processes that did not report their final counts.
std::string lossText(const CapturedProcess& process) {
    std::string text = countedLosses(process);
    if (process.gpu_unknown) text += "; GPU work unknown";
    if (process.account != CapturedProcess::Account::Open) return text;
    return lossesOf(process) == 0 ? "unknown" : "unknown, at least " + text;
}

std::string_view accountName(CapturedProcess::Account account) {
    switch (account) {
    case CapturedProcess::Account::Own: return "own";
    case CapturedProcess::Account::Watcher: return "record";
    case CapturedProcess::Account::Open: break;
    }
    return "none";
}

/// Reports "nothing lost" only if this is certain.
std::string lossHeadline(const profiler::CaptureReport& captured) {
    std::int64_t lost = 0;
    std::int64_t files = 0;
    std::size_t open = 0;
    for (const CapturedProcess& process : captured.processes) {
        lost += lossesOf(process);
        files += process.files_missing;
        open += process.account == CapturedProcess::Account::Open || process.gpu_unknown ? 1 : 0;
    }
    std::string known;
    if (files > 0) known = fmt::format("{} file{} missing", files, pluralS(files));
    if (lost > 0)
        known += fmt::format("{}{} event{} lost or incomplete", known.empty() ? "" : ", ", lost, pluralS(lost));
    if (open == 0) return known.empty() ? "nothing lost" : known;
    return fmt::format("{}{} of {} process{} did not exit normally; how many events they lost is unknown",
                       known.empty() ? "" : "at least " + known + "; ", open, captured.processes.size(),
                       captured.processes.size() == 1 ? "" : "es");
}

} // namespace

void CaptureCommandOptions::addTo(const Command& command) {
    command.addOption("--out", dir_, "Folder for the traces, with one or more files per process")
        .typeName("DIR")
        .showDefault();
    command.addFlag("--pipeline", pipeline_,
                    "Low overhead: record only NVTX ranges, NCCL, and the first and last kernel of each op");
    command.addOption("--record", kinds_, "What to record: nvtx, nccl, cuda and python, joined by + (default: all)")
        .typeName("KINDS");
    command.addOption("--kernels", kernels_, "Record kernels only in every N-th step: every=N (default: in all)")
        .typeName("STEPS");
    command.addFlag("--memory", memory_, "Also record the memory reserved on each GPU over time (CUDA 11.2 or later)");
    command.addFlag("--no-python", no_python_, "Do not hook into Python processes; ops then have no framework names");
    command.addFlag("--python-ranges", python_ranges_,
                    "Take ops from the job's own bubblescope_ranges calls, not from its framework");
    command.addFlag("--aadiff", aadiff_, "While ranks wait, recompute their results and compare the bits");
    command
        .addOption("--aadiff-margin", aadiff_margin_,
                   "Safety margin in percent: a check may take this much longer than its op without delaying the step")
        .range(0.0, 1000.0)
        .typeName("PERCENT")
        .showDefault();
    command
        .addParsed("--aadiff-memory", aadiff_memory_, parseBytes,
                   "Memory per rank for checks, such as 64MiB (default: as needed)")
        .typeName("BYTES");
    command
        .addOption("--aadiff-cost", aadiff_cost_, "Maximum slowdown of the job by checks, in percent of the step time")
        .range(0.0, 100.0)
        .typeName("PERCENT")
        .showDefault();
    command.addOption("--steps", steps_, "Record only these steps, such as 10-20 or 10-").typeName("STEPS");
    command.addOption("--step-name", step_name_, "Begin a step at each range or mark whose name starts with this")
        .typeName("TEXT");
    command.addOption("--delay", delay_, "Start recording this long after a process's first event").typeName("TIME");
    command.addOption("--duration", duration_, "Stop recording after this time").typeName("TIME");
    command.addOption("--size", size_, "Size limit per process (2GiB); beyond it, the oldest part is dropped")
        .typeName("BYTES");
    command.addOption("--capture", more_, "More library options, such as flush=100ms,buffer=256MiB").typeName("LIST");
}

Result<profiler::CaptureOptions> CaptureCommandOptions::options() const {
    profiler::CaptureOptions options;
    options.dir = dir_;
    if (pipeline_) options.mode = profiler::CaptureOptions::Mode::Pipeline;
    for (const auto& [key, value] :
         {std::pair("record", kinds_), std::pair("kernels", kernels_), std::pair("steps", steps_),
          std::pair("step", step_name_), std::pair("delay", delay_), std::pair("duration", duration_),
          std::pair("size", size_)}) {
        if (value.empty()) continue;
        if (value.find_first_of(",\n#") != std::string::npos)
            return usageError(fmt::format("'{}' must not contain a comma, a # or a line break", value));
        BUBBLESCOPE_TRY(profiler::parseCaptureOptions(fmt::format("{}={}", key, value), options));
    }
    if (!kernels_.empty() && !options.cuda)
        return usageError("--kernels requires the kind cuda", "add cuda to --record");
    if (memory_ && !options.cuda) return usageError("--memory requires the kind cuda", "add cuda to --record");
    options.memory = memory_;
    if (no_python_ && python_ranges_) return usageError("--no-python and --python-ranges cannot be combined");
    if (no_python_) options.python = false;
    if (python_ranges_) options.python = options.python_ranges = true;
    if (aadiff_ && !options.python)
        return usageError("--aadiff works only through the framework adapters in Python processes");
    if (aadiff_ && python_ranges_)
        return usageError("--aadiff and --python-ranges cannot be combined",
                          "add checks to your own framework with bubblescope_aadiff.py");
    constexpr double kPercent = 100;
    options.checks = aadiff_;
    options.checks_margin = aadiff_margin_ / kPercent;
    options.checks_cost = aadiff_cost_ / kPercent;
    if (aadiff_memory_) options.checks_memory = *aadiff_memory_;
    BUBBLESCOPE_TRY(profiler::parseCaptureOptions(more_, options));
    return options;
}

report::Document captureDocument(const profiler::CaptureReport& captured, const std::string& dir) {
    using report::Align;
    using report::column;
    using report::data;
    using report::shown;
    using report::Value;
    report::Document document;
    if (captured.processes.empty()) {
        document.line(
            fmt::format("{}: nothing was recorded: no process used NVTX, NCCL, CUDA or a known framework", dir));
    } else {
        document.line(fmt::format("{}: {} process{}, {}", dir, captured.processes.size(),
                                  captured.processes.size() == 1 ? "" : "es", lossHeadline(captured)));
    }
    report::Table table("processes",
                        {column("rank", "rank"), column("host", "host", Align::Left), column("pid", "process"),
                         column("program", "program", Align::Left), data("files"), shown("ranges"),
                         shown("NCCL events"), shown("GPU work"), shown("lost", Align::Left), data("recorded"),
                         data("lost"), data("account"), data("gpu_unknown"), data("messages")});
    if (captured.processes.empty()) table.reader = report::Reader::Programs;
    for (const CapturedProcess& process : captured.processes) {
        const CaptureCounts& counts = process.counts;
        Value::Object recorded;
        Value::Object losses;
        for (std::size_t i = 0; i < perfetto::kCaptureCounts.size(); ++i) {
            const auto& [name, member] = perfetto::kCaptureCounts[i];
            (i < perfetto::kFirstLoss ? recorded : losses).push_back({std::string(name), counts.*member});
        }
        losses.push_back({"files_missing", process.files_missing});
        losses.push_back({"unreadable", process.unreadable});
        table.row(process.rank ? report::Cell(*process.rank) : report::Cell(Value()).as("-"), process.host, process.pid,
                  process.program, report::filesOf(process.files), counts.ranges, counts.comm_events, counts.gpu_work,
                  lossText(process), std::move(recorded), std::move(losses), accountName(process.account),
                  process.gpu_unknown, Value(process.messages));
    }
    document.add(std::move(table));
    for (const CapturedProcess& process : captured.processes) {
        for (const std::string& message : process.messages)
            document.line(visible(fmt::format("process {}: {}", process.pid, message)));
    }
    if (captured.processes.empty()) {
        for (const std::string& line : captured.log)
            document.line(line);
    } else {
        document.line(fmt::format("Next: bubblescope analyze {}", shellWord(dir)));
    }
    Value::Object slices;
    for (const auto& [category, count] : captured.slices)
        slices.push_back({category, count});
    document.data("slices", std::move(slices));
    document.data("log", captured.log);
    document.add(report::problemsTable(captured.problems, report::Reader::Programs));
    return document;
}

} // namespace bubblescope::cli
