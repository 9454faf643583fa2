#include "app/cli/capture_forward.h"
#include "app/cli/capture_output.h"
#include "app/cli/command.h"
#include "app/cli/end_in_time.h"
#include "app/cli/monitor_streams.h"
#include "app/cli/no_memory.h"
#include "app/cli/output.h"
#include "app/cli/stop_signals.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/existing_results.h"
#include "core/formats/source/replacing_file.h"
#include "core/net/secret.h"
#include "core/recognise/standstill.h"
#include "core/report/json.h"
#include "core/report/text.h"
#include "profiler/capture/rank_identity.h"
#include "profiler/job/process_watcher.h"
#include "profiler/job/run_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace bubblescope::cli {
namespace {

struct RecordArguments {
    CaptureCommandOptions capture;
    StreamOptions streams;
    std::string report_file;
    TimeNs patience{std::chrono::seconds(10)}; ///< for the receiver, at the end
    const bool* force = nullptr;               ///< true if --force was given
    std::vector<std::string> command;
};

/// If each process of a job has a separate `record`, only the first one prints.
bool isFirstOfJob() {
    return profiler::identify(profiler::ownVariable).rank.value_or(0) == 0;
}

/// If each process has a separate `record`, one `record` per machine sends the data of all processes there.
bool sends(const RecordArguments& options) {
    return !options.streams.forward.empty() && profiler::identify(profiler::ownVariable).local_rank.value_or(0) == 0;
}

/// Traces of an earlier job in the folder would be read as part of this one.
Status mustBeFresh(const std::filesystem::path& dir, bool force) {
    if (profiler::identify(profiler::ownVariable).rank) return {}; // other processes of this job also write there
    JobControl control;
    std::error_code ignored;
    if (!std::filesystem::exists(dir, ignored)) return {};
    if (force) return removeAll(dir, kTraceEnding);
    BUBBLESCOPE_ASSIGN(const profiler::CaptureReport there, profiler::reportCapture(dir, control));
    if (there.processes.empty()) return {};
    return usageError(fmt::format("{} contains an earlier recording", dir.string()),
                      "use --force to replace it, or another folder with --out");
}

/// Waits of a job that was hanging when it was stopped; nothing if it was not hanging.
void addStandstill(report::Document& document, const profiler::CaptureReport& recorded,
                   const std::filesystem::path& dir) {
    constexpr std::int64_t kMostSlices = 10'000'000; // reading more would take too many seconds
    std::int64_t slices = 0;
    for (const auto& [category, count] : recorded.slices)
        slices += count;
    JobControl control;
    if (slices > kMostSlices) return;
    const auto read = readTraces({dir}, control);
    if (!read.ok()) return;
    const Standstill found = standstillOf(*read.value().trace);
    if (!found.stands()) return;
    document.line(found.is_cycle ? "The job deadlocked:" : "The job hung:");
    document.line("  " + cycleText(found.waits).text());
    report::Table ranks("standstill", {report::column("rank", "rank"), report::column("waits_in", "waits in"),
                                       report::column("waited_ns", "for"), report::column("last", "latest actions")});
    for (const Standstill::StandingRank& rank : found.ranks)
        ranks.row(rank.rank, rank.waits_in, rank.waited, fmt::format("{}", fmt::join(rank.last, " ")));
    report::Section section;
    section.add(std::move(ranks));
    document.add(std::move(section));
    document.data("standstill_cycle", found.is_cycle);
}

/// Scripts use the job's exit code, so errors in the report must not change it.
void reportOn(const RecordArguments& options, const std::filesystem::path& dir, bool failed,
              const profiler::ProcessWatcher::Report& watched) {
    JobControl control;
    const auto recorded = profiler::reportCapture(dir, control, watched.processes);
    if (!recorded.ok()) return printError(recorded.error().text());
    printProblems(recorded.value().problems);
    // Uses stderr, because stdout belongs to the job.
    report::Document document = captureDocument(recorded.value(), dir.string());
    if (failed) addStandstill(document, recorded.value(), dir);
    if (watched.running > 0)
        document.line(
            fmt::format("{} process{} of the job still recording", watched.running, watched.running == 1 ? "" : "es"));
    if (watched.incomplete)
        document.line("not enough memory or file descriptors to watch all processes; some events may be lost");
    if (watched.refused > 0)
        document.line(
            fmt::format("refused {} connection{} from other users", watched.refused, watched.refused == 1 ? "" : "s"));
    const std::string text = report::toText(document);
    std::fwrite(text.data(), 1, text.size(), stderr); // a failure must not end the recording
    if (options.report_file.empty()) return;
    ReplacingFile file(options.report_file);
    file.write(report::toJson(document) + "\n");
    if (const Status written = file.commit(); !written.ok()) printError(written.error().text());
}

/// Sends the data that the monitor has not received; it is also in the folder. `hurried` is true if the job was
/// stopped, so that sending must be fast.
void sendRest(CaptureForward& forward, TimeNs patience, bool hurried, const StopSignals& stop) {
    constexpr int kSlow = 10; // multiple of the patience for a slow collector
    constexpr TimeNs kHurry{std::chrono::milliseconds(500)};
    const TimeNs most = hurried ? kHurry : kSlow * patience;
    const Status sent = forward.finish({std::min(patience, most), most, stop.descriptor()});
    if (!sent.ok()) printError(sent.error().text());
}

CommandResult record(const RecordArguments& options) {
    BUBBLESCOPE_ASSIGN(profiler::CaptureOptions capture, options.capture.options());
    BUBBLESCOPE_ASSIGN(const std::filesystem::path library, profiler::findInjectLibrary(profiler::ownVariable));
    std::error_code ignored;
    const bool made = !std::filesystem::exists(capture.dir, ignored);
    const bool force = options.force != nullptr && *options.force;
    BUBBLESCOPE_TRY(mustBeFresh(capture.dir, force));
    BUBBLESCOPE_TRY(makeWritableFolder(capture.dir));
    if (!force && !options.report_file.empty() && isFirstOfJob()) BUBBLESCOPE_TRY(mustBeNew(options.report_file));
    std::unique_ptr<CaptureForward> forward;
    if (sends(options)) {
        BUBBLESCOPE_ASSIGN(live::StreamSender::Options sender, options.streams.senderOptions());
        sender.only_own = true;
        ::unsetenv(net::kTokenVariable); // only for the collector, not for the job
        BUBBLESCOPE_ASSIGN(forward, CaptureForward::start(std::move(sender), capture.dir));
    }
    auto watcher = profiler::ProcessWatcher::start(std::filesystem::absolute(capture.dir, ignored));
    if (watcher.ok())
        capture.watcher = watcher.value()->name();
    else
        printError(watcher.error().text());
    BUBBLESCOPE_ASSIGN(const auto variables, profiler::captureEnvironment(library, capture, profiler::ownVariable));
    for (const auto& [name, value] : variables) {
        const auto before = profiler::ownVariable(name);
        const bool replaced = before && *before != value && !value.ends_with(":" + *before); // it is extended
        if (replaced && !before->empty() && isFirstOfJob())
            fmt::print(stderr, "bubblescope: {} was '{}'; replaced for this recording\n", name, *before);
    }
    if (capture.python && std::ranges::count(variables, "PYTHONPATH", &std::pair<std::string, std::string>::first) == 0)
        printError("the Python files for recorded jobs are missing, so framework ops are recorded without names");
    const profiler::JobEnd job = profiler::runJob(options.command, variables);
    no_memory_exit_code = job.exit_code;
    StopSignals stop; // created before the threads that read the traces
    const EndInTime in_time(stop);
    try {
        constexpr std::chrono::milliseconds kLateProcesses{500};
        const profiler::ProcessWatcher::Report watched =
            watcher.ok() ? watcher.value()->finish(kLateProcesses) : profiler::ProcessWatcher::Report{};
        if (!job.why_not.empty()) {
            printError(fmt::format("{}: cannot start: {}", options.command.front(), job.why_not));
        } else if (isFirstOfJob()) {
            reportOn(options, capture.dir, job.exit_code != 0, watched);
        }
        if (made) ::rmdir(capture.dir.c_str()); // if the folder is empty because nothing was recorded
        if (forward) sendRest(*forward, options.patience, job.asked_to_stop, stop);
    } catch (const std::bad_alloc&) {
        printNoMemory(); // but the job has ended, and its exit code is returned
    }
    [[maybe_unused]] const bool asked = stop.came(); // a signal that was handled before must not end this process now
    return job.exit_code;
}

} // namespace

void addRecordCommand(Command app, Action& action) {
    const Command command = app.addCommand("record", "Run and record a job; exits with the job's exit code");
    const auto options = std::make_shared<RecordArguments>();
    command.examples({"record --out my-trace -- torchrun --nproc-per-node 4 train.py",
                      "record --out my-trace --steps 10-20 -- python train.py"});
    options->capture.addTo(command);
    options->force = &command.force();
    command
        .addOption("--report", options->report_file, "Also write a summary of recorded and lost events to a JSON file")
        .typeName("FILE");
    options->streams.addForward(command, "Also send the recording to the monitor at this address while the job runs");
    command
        .addParsed(
            "--patience", options->patience, parseTime,
            "Time to wait after the job for a monitor that does not accept data (10s); at most ten times this in total")
        .typeName("TIME")
        .group("Over the network");
    command.addOption("COMMAND", options->command, "The job, after --").required();
    command.onParsed([&action, options] { action = [options] { return record(*options); }; });
}

} // namespace bubblescope::cli
