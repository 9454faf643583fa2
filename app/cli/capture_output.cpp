#include "app/cli/capture_output.h"

#include "app/cli/table.h"

#include <fmt/format.h>

#include <utility>

namespace bubblescope::cli {
namespace {

using perfetto::CaptureCounts;
using profiler::CapturedProcess;

std::int64_t lossesOf(const perfetto::CaptureCounts& counts) {
    std::int64_t sum = 0;
    for (std::size_t i = perfetto::kFirstLoss; i < perfetto::kCaptureCounts.size(); ++i)
        sum += counts.*perfetto::kCaptureCounts[i].second;
    return sum;
}

/// "3 lost_in_rings, 1 untimed", every one of them, since each has another cause.
std::string lossText(const perfetto::CaptureCounts& counts) {
    std::string text;
    for (std::size_t i = perfetto::kFirstLoss; i < perfetto::kCaptureCounts.size(); ++i) {
        const auto& [name, member] = perfetto::kCaptureCounts[i];
        if (counts.*member != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts.*member, name);
    }
    return text.empty() ? "nothing" : text;
}

} // namespace

void CaptureCommandOptions::addTo(const Command& command) {
    command.addOption("--out", dir_, "Folder for the traces, one or more files for each process")
        .typeName("DIR")
        .showDefault();
    command.addFlag("--pipeline", pipeline_,
                    "Low overhead: NVTX ranges, NCCL, and of an op's kernels the first and the last");
    command.addOption("--record", kinds_, "What to record: any of nvtx, nccl and cuda, joined by + (default: all)")
        .typeName("KINDS");
    command.addOption("--steps", steps_, "Only these steps, such as 10-20 or 10-").typeName("STEPS");
    command.addOption("--step-name", step_name_, "What the names of ranges or marks begin with that begin a step")
        .typeName("TEXT");
    command.addOption("--delay", delay_, "Begin so long after a process's first event").typeName("TIME");
    command.addOption("--duration", duration_, "Record so long").typeName("TIME");
    command.addOption("--size", size_, "What a process may write (2GiB); beyond it its oldest part goes")
        .typeName("BYTES");
    command.addOption("--capture", more_, "Further options of the library: flush=100ms,ring=65536").typeName("LIST");
}

Result<profiler::CaptureOptions> CaptureCommandOptions::options() const {
    profiler::CaptureOptions options;
    options.dir = dir_;
    if (pipeline_) options.mode = profiler::CaptureOptions::Mode::Pipeline;
    for (const auto& [key, value] :
         {std::pair("record", kinds_), std::pair("steps", steps_), std::pair("step", step_name_),
          std::pair("delay", delay_), std::pair("duration", duration_), std::pair("size", size_)}) {
        if (value.empty()) continue;
        if (value.find_first_of(",\n#") != std::string::npos)
            return usageError(fmt::format("'{}' cannot hold a comma, a # or a line's end", value));
        BUBBLESCOPE_TRY(profiler::parseCaptureOptions(fmt::format("{}={}", key, value), options));
    }
    BUBBLESCOPE_TRY(profiler::parseCaptureOptions(more_, options));
    return options;
}

std::string captureText(const profiler::CaptureReport& report, const std::string& dir) {
    std::string text;
    if (report.processes.empty()) {
        text = fmt::format("{}: nothing was recorded: no process used NVTX, NCCL or CUDA\n", dir);
    } else {
        using Align = Table::Align;
        Table table({{"rank"},
                     {"host", Align::Left},
                     {"process"},
                     {"program", Align::Left},
                     {"ranges"},
                     {"NCCL events"},
                     {"GPU work"},
                     {"lost", Align::Left}});
        std::int64_t lost = 0;
        for (const CapturedProcess& process : report.processes) {
            const perfetto::CaptureCounts& counts = process.counts;
            lost += lossesOf(counts);
            table.row({process.rank ? std::to_string(*process.rank) : "-", process.host, std::to_string(process.pid),
                       process.program, std::to_string(counts.ranges), std::to_string(counts.comm_events),
                       std::to_string(counts.gpu_work), lossText(counts)});
        }
        text = fmt::format("{}: {} process{}, {}\n", dir, report.processes.size(),
                           report.processes.size() == 1 ? "" : "es",
                           lost == 0 ? "nothing lost" : fmt::format("{} events lost or incomplete", lost));
        text += table.text();
    }
    for (const CapturedProcess& process : report.processes) {
        for (const std::string& message : process.messages)
            text += fmt::format("process {}: {}\n", process.pid, message);
    }
    if (report.processes.empty()) {
        for (const std::string& line : report.log)
            text += line + "\n";
    } else {
        text += fmt::format("Look at it with: bubblescope analyze {}\n", dir);
    }
    return text;
}

Json captureJson(const profiler::CaptureReport& report) {
    Json out;
    out["processes"] = Json::array();
    for (const CapturedProcess& process : report.processes) {
        Json one;
        one["rank"] = process.rank ? Json(*process.rank) : Json(nullptr);
        one["host"] = process.host;
        one["pid"] = process.pid;
        one["program"] = process.program;
        one["files"] = Json::array();
        for (const auto& file : process.files)
            one["files"].push_back(file.string());
        for (std::size_t i = 0; i < perfetto::kCaptureCounts.size(); ++i) {
            const auto& [name, member] = perfetto::kCaptureCounts[i];
            one[i < perfetto::kFirstLoss ? "recorded" : "lost"][std::string(name)] = process.counts.*member;
        }
        one["messages"] = process.messages;
        out["processes"].push_back(std::move(one));
    }
    out["slices"] = Json::object();
    for (const auto& [category, count] : report.slices)
        out["slices"][category] = count;
    out["log"] = report.log;
    out["problems"] = problemsJson(report.problems);
    return out;
}

} // namespace bubblescope::cli
