// Whole files, as people open them.

#include "core/aadiff/compare.h"
#include "core/analysis/anomalies/slice_evidence.h"
#include "core/analysis/clocks/clock_evidence.h"
#include "core/analysis/devices/device_summary.h"
#include "core/analysis/devices/memory_curve.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/formats/chrome/writer.h"
#include "core/formats/csv/writer.h"
#include "core/formats/perfetto/writer.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/file_extract.h"
#include "core/recognise/extractors.h"
#include "core/recognise/run.h"
#include "core/recognise/stated_values.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"
#include "tests/support/scratch_folder.h"

#include <array>
#include <numeric>

namespace bubblescope::fuzz {
namespace {

const test::ScratchFolder& folder() {
    static const test::ScratchFolder made;
    return made;
}

std::optional<ReadTraces> readAgain(const std::filesystem::path& file) {
    JobControl control;
    auto read = readTraces({file}, control);
    if (!read.ok()) return std::nullopt;
    checkTrace(*read.value().trace, read.value().problems);
    return std::move(read).value();
}

std::int64_t totalDuration(const Trace& trace) {
    const auto durations = trace.sliceDurations();
    // Sums wrap around alike on both sides.
    return static_cast<std::int64_t>(std::accumulate(
        durations.begin(), durations.end(), std::uint64_t{0},
        [](std::uint64_t sum, std::int64_t duration) { return sum + static_cast<std::uint64_t>(duration); }));
}

void checkSame(const Trace& before, const std::filesystem::path& file) {
    const auto after = readAgain(file);
    if (before.sliceCount() + before.instants().size() == 0) return; // the rest is not a trace, and is refused
    require(after.has_value(), "what was written can be read");
    require(after->trace->sliceCount() == before.sliceCount(), "slices are all written");
    require(after->trace->instants().size() == before.instants().size(), "instants are all written");
    require(totalDuration(*after->trace) == totalDuration(before), "slices keep their durations");
}

void checkActivity(const LoadedTrace& loaded) {
    const auto files = activityOf(loaded);
    require(files.ok() && files.value().size() == loaded.run.inputs().size(), "every file shows what it did");
    for (const FileActivity& file : files.value()) {
        for (const DeviceSummary& device : file.devices) {
            require(device.times.span() == device.last - device.first, "a device's times make up its span");
            require(device.idle.total() == device.times.idle(), "idle time waits for something");
        }
        for (const HostSummary& thread : file.threads)
            require(thread.busy >= TimeNs{0} && thread.busy <= thread.last - thread.first, "a thread is one thread");
    }
}

} // namespace

void loadRun(std::string_view bytes) {
    JobControl control;
    const auto loaded = loadTrace({folder().write(kInput, bytes)}, control);
    if (!loaded.ok()) return checkError(loaded.error());
    checkTrace(*loaded.value().run.trace, loaded.value().run.problems);
    if (loaded.value().no_pipeline) {
        checkError(*loaded.value().no_pipeline);
        return checkActivity(loaded.value());
    }
    const Run& run = loaded.value().run;
    require(!run.steps.empty(), "a run has steps");
    const RunReport report = analyzeRun(run);
    for (const StepAnalysis& step : report.steps) {
        for (const RankAccount& account : step.ranks)
            require(account.busy + account.bubble == step.wall, "busy and bubble make up the step");
        for (const RankAccount& account : step.ranks)
            require(account.replay >= TimeNs{0} && account.replay <= account.bubble, "checks are part of a bubble");
    }
    if (report.coverage) require(report.coverage->replayed <= report.coverage->work, "no work is checked twice over");
    const DigestedRun digested{run.checks.digests, run.info};
    require(compareDigests(digested, digested).differing == 0, "a run does not differ from itself");
}

void extracts(std::string_view bytes) {
    static const std::vector<std::string> kKeys = [] {
        std::vector<std::string> keys{keyOf(kNativeMarks),  keyOf(kProfilerMarks), keyOf(kComputeBlocks),
                                      keyOf(kCategories),   keyOf(kNativeChecks),  keyOf(kStepValues),
                                      keyOf(kNativeClocks), keyOf(kCollectives),   keyOf(kKernelTime),
                                      keyOf(kMemoryCurves), keyOf(kActivity),      std::string(kInstantsKey)};
        for (const RecognitionRule& rule : builtinRules())
            keys.push_back(keyOf(kRuleFinds, rule));
        return keys;
    }();
    FileExtract extract;
    extract.file = {"rank0.json", "kineto", 0};
    extract.extent = {TimeNs{1'000}, TimeNs{1'000'000'000}};
    extract.flows.dangling = {0};
    for (const RecognitionRule& rule : builtinRules())
        extract.rules.insert(keyOf(rule));
    WireReader in(bytes);
    while (in.left() > 0 && !in.failed()) {
        std::uint8_t key = 0;
        std::string value;
        in(key, value);
        if (!in.failed()) extract.put(kKeys[key % kKeys.size()], value);
    }
    TraceBuilder empty;
    empty.addFile({"rank0.json", "kineto", 0});
    DiagnosticLog log;
    const auto trace = empty.finish(log);
    const std::filesystem::path file = folder().path() / kInput;
    require(perfetto::writeTrace(file, *trace, log, {}, std::array{extract.encoded()}).ok(),
            "an extract can be written");
    JobControl control;
    auto loaded = loadTrace({file, file}, control); // as if of two ranks
    if (!loaded.ok()) return checkError(loaded.error());
    if (loaded.value().no_pipeline) return (void)activityOf(loaded.value());
    for (const ClockUse clocks : {ClockUse::Auto, ClockUse::Align}) {
        DiagnosisOptions options;
        options.clocks = clocks;
        options.memory_estimate = {1, 1};
        const auto diagnosed = diagnoseRun(loaded.value().run, options);
        if (!diagnosed.ok()) checkError(diagnosed.error());
    }
    (void)statedValues(loaded.value().run);
}

void roundTrip(std::string_view bytes) {
    const auto read = readAgain(folder().write(kInput, bytes));
    if (!read) return;
    DiagnosticLog log;
    const auto written = [](const Status& status) { require(status.ok(), "a trace can be written"); };
    written(perfetto::writeTrace(folder().path() / "again.pftrace", *read->trace, log));
    checkSame(*read->trace, folder().path() / "again.pftrace");
    written(chrome::writeChrome(folder().path() / "again.json", *read->trace, log));
    checkSame(*read->trace, folder().path() / "again.json");
    written(csv::writeSlices(folder().path() / "again.csv", *read->trace));
}

} // namespace bubblescope::fuzz
