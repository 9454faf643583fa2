#include "app/cli/command.h"
#include "app/cli/fail_on.h"
#include "app/cli/load_options.h"
#include "app/cli/load_watch.h"
#include "app/cli/memory_options.h"
#include "app/cli/model_size_options.h"
#include "app/cli/otlp_options.h"
#include "app/cli/output.h"
#include "app/cli/step_options.h"
#include "app/cli/svg_options.h"
#include "core/analysis/devices/device_summary.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/formats/source/replacing_file.h"
#include "core/live/long_run.h"
#include "core/report/data_table.h"
#include "core/report/html.h"
#include "core/report/results/analysis.h"
#include "core/report/results/devices.h"
#include "core/report/results/model_use.h"
#include "core/report/results/tables.h"
#include "core/report/results/zoom.h"
#include "core/telemetry/run_telemetry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

struct AnalyzeArguments {
    std::vector<std::string> files;
    std::vector<std::string> fail_on;
    StepRequest steps;
    Budgets budgets;
    std::optional<int> top;
    bool all = false;
    RecogniseRequest recognise;
    SvgOptions svg;
    std::string html;
    std::string csv;
    OtlpOptions otlp;
    std::optional<otlp::Collector> collector; ///< from `otlp`
    std::string clocks = "auto";
    std::string in_parts = "auto";
    std::string threshold_file;
    std::vector<std::string> thresholds;
    MemoryRequest memory;
    ModelUseRequest use;
    bool summary = false;
    bool json = false;
};

Result<Thresholds> thresholdsOf(const AnalyzeArguments& options) {
    Thresholds thresholds;
    if (!options.threshold_file.empty()) BUBBLESCOPE_TRY(readThresholds(thresholds, options.threshold_file));
    for (const std::string& assignment : options.thresholds)
        BUBBLESCOPE_TRY(setThreshold(thresholds, assignment));
    return thresholds;
}

/// Diagnosis options, except those estimated from the run.
Result<DiagnosisOptions> diagnosisOptions(const AnalyzeArguments& options) {
    DiagnosisOptions diagnosis;
    BUBBLESCOPE_ASSIGN(diagnosis.thresholds, thresholdsOf(options));
    diagnosis.request = options.steps;
    diagnosis.clocks = options.clocks == "align" ? ClockUse::Align
                       : options.clocks == "off" ? ClockUse::Off
                                                 : ClockUse::Auto;
    return diagnosis;
}

Status addMemoryEstimate(DiagnosisOptions& diagnosis, const Run& run, const AnalyzeArguments& options) {
    BUBBLESCOPE_ASSIGN(const auto memory, options.memory.report(run.schedule));
    if (!memory) return {};
    for (const RankMemory& rank : memory->ranks)
        diagnosis.memory_estimate.push_back(rank.peak());
    return {};
}

/// Returns nothing if the complete run must be loaded.
Result<std::optional<DiagnosedRun>> analyzeInParts(const AnalyzeArguments& options, const LoadOptions& known_of,
                                                   const std::vector<std::filesystem::path>& files,
                                                   const DiagnosisOptions& diagnosis) {
    const bool always = options.in_parts == "always";
    const bool reads = !known_of.reading.lanes.empty() || !known_of.reading.ranks.empty();
    const bool recognises = reads || !known_of.rules.empty() || known_of.mesh || known_of.schedule || known_of.family;
    const bool needs_all = recognises || options.memory.hasModel() || diagnosis.clocks != ClockUse::Auto;
    if (always && needs_all)
        return usageError(
            "--in-parts always cannot be combined with options for reading, memory or clocks",
            "omit --in-parts, or omit --rules, --rank-of, --mesh, --schedule, --memory-model and --clocks");
    if (options.in_parts == "never" || needs_all || (!always && !options.csv.empty()))
        return std::optional<DiagnosedRun>();
    WindowLimits limits;
    if (always) limits.records = 0; // enabled for traces of any size
    const std::uint64_t least = always ? 1 : live::kLongRecording;
    JobControl control;
    return watchLoad(control, [&] { return live::diagnoseLongRun(files, diagnosis, limits, least, control); });
}

Result<DiagnosedRun> analyzeWhole(LoadedTrace loaded, const AnalyzeArguments& options, DiagnosisOptions diagnosis) {
    BUBBLESCOPE_TRY(addMemoryEstimate(diagnosis, loaded.run, options));
    return diagnoseRun(std::move(loaded.run), diagnosis);
}

/// Draws the step with its typical times.
Status drawStep(const Run& run, const RunReport& report, const AnalyzeArguments& options) {
    const std::size_t shown = report.typicalStep();
    CostModel typical;
    typical.times = report.steps[shown].typical;
    return options.svg.write(std::vector<report::Drawn>{{run.schedule, run.steps[shown], typical}});
}

report::Document documentFor(report::Reader reader, const DiagnosedRun& diagnosed, const AnalyzeArguments& options,
                             const std::optional<ModelUse>& use) {
    report::AnalysisOptions content;
    content.reader = reader;
    content.use = use;
    if (options.top) content.most_findings = static_cast<std::size_t>(*options.top);
    if (options.all) content.most_findings = diagnosed.report.anomalies.size();
    content.version = BUBBLESCOPE_VERSION;
    return report::analysisDocument(diagnosed.run, diagnosed.report, content);
}

Status writePage(const report::Document& page, const AnalyzeArguments& options,
                 const report::ZoomTimeline* zoom = nullptr) {
    if (options.html.empty()) return {};
    ReplacingFile file(options.html);
    file.write(report::toHtml(page, zoom));
    BUBBLESCOPE_TRY(file.commit());
    fmt::print(stderr, "Report written to {}\n", options.html);
    return {};
}

Status writeTables(const std::vector<report::AnalysisTable>& tables, const AnalyzeArguments& options) {
    if (options.csv.empty()) return {};
    const std::filesystem::path folder(options.csv);
    BUBBLESCOPE_ASSIGN(ReplacingFiles files, ReplacingFiles::in(folder));
    for (const report::AnalysisTable& table : tables) {
        BUBBLESCOPE_ASSIGN(ReplacingFile* const file, files.begin(fmt::format("{}.csv", table.name)));
        report::writeCsv(table.make(), [file](std::string_view text) { file->write(text); });
    }
    BUBBLESCOPE_TRY(files.commit());
    fmt::print(stderr, "Tables written to {}\n", options.csv);
    return {};
}

report::Document shownDocument(const DiagnosedRun& diagnosed, const AnalyzeArguments& options,
                               const std::optional<ModelUse>& use) {
    if (options.summary) {
        report::Document summary = report::summaryDocument(diagnosed.run, diagnosed.report);
        if (use) summary.add(report::modelUseSection(diagnosed.report.selection.stepTime(), *use));
        return summary;
    }
    return documentFor(options.json ? report::Reader::Programs : report::Reader::Text, diagnosed, options, use);
}

Status addModelUse(report::Document& document, const Run& run, const std::vector<FileActivity>& files,
                   const std::optional<StepActivity>& typical, const ModelUseRequest& request) {
    BUBBLESCOPE_ASSIGN(const std::optional<ModelUse> use, request.use(run, files));
    if (!use) return {};
    document.add(report::modelUseSection(typical->duration, *use));
    return {};
}

/// Reports the activity of the devices in a trace without a pipeline. If an option needs a pipeline, reports why there
/// is none.
CommandResult analyzeActivity(const LoadedTrace& loaded, const AnalyzeArguments& options) {
    const bool about_pipelines = !options.steps.empty() || !options.fail_on.empty() || options.otlp.wanted();
    printProblems(loaded.run.problems); // because they may be the cause of an error
    if (about_pipelines || options.svg.wanted()) return *loaded.no_pipeline;
    BUBBLESCOPE_ASSIGN(const std::vector<FileActivity> files, activityOf(loaded));
    const std::optional<StepActivity> typical = typicalStep(files);
    if (!report::showsActivity(files) || (options.budgets.any() && !typical)) return *loaded.no_pipeline;
    report::Document document = report::activityDocument(loaded, files, BUBBLESCOPE_VERSION);
    BUBBLESCOPE_TRY(addModelUse(document, loaded.run, files, typical, options.use));
    BUBBLESCOPE_TRY(writePage(document, options));
    BUBBLESCOPE_TRY(writeTables(report::activityTables(files), options));
    report::Document shown = options.summary ? report::activitySummary(loaded, files) : std::move(document);
    if (options.summary) BUBBLESCOPE_TRY(addModelUse(shown, loaded.run, files, typical, options.use));
    print(shown, options.json);
    if (loaded.holds_ops) return exitCode(ErrorKind::Input); // A pipeline was found but could not be analysed.
    const bool over =
        typical && options.budgets.exceeded(typical->duration, fractionOf(typical->times.idle(), typical->duration));
    return over ? 1 : 0;
}

/// Sends steps and findings to a collector, without keeping the user waiting.
Status sendTelemetry(const DiagnosedRun& diagnosed, const AnalyzeArguments& options,
                     const std::optional<ModelUse>& use) {
    constexpr std::chrono::seconds kPatience{10};
    if (!options.collector) return {};
    otlp::Telemetry made = telemetry::ofReport(diagnosed.run, diagnosed.report, use,
                                               fmt::format("{}", fmt::join(options.files, " ")), otlp::utcNow());
    made.version = BUBBLESCOPE_VERSION;
    BUBBLESCOPE_ASSIGN(const std::vector<std::string> warnings, otlp::send(*options.collector, made, kPatience));
    for (const std::string& warning : warnings)
        printError(warning);
    return {};
}

/// Prints and writes the report of a run with a pipeline.
CommandResult show(const DiagnosedRun& diagnosed, const AnalyzeArguments& options) {
    const Run& run = diagnosed.run;
    const RunReport& report = diagnosed.report;
    BUBBLESCOPE_ASSIGN(const std::optional<ModelUse> use, options.use.use(run));
    BUBBLESCOPE_TRY(drawStep(run, report, options));
    if (!options.html.empty()) {
        const report::ZoomTimeline zoom = report::zoomTimeline(run, report);
        BUBBLESCOPE_TRY(writePage(documentFor(report::Reader::Page, diagnosed, options, use), options, &zoom));
    }
    BUBBLESCOPE_TRY(writeTables(report::analysisTables(run, report), options));
    printProblems(run.problems);
    print(shownDocument(diagnosed, options, use), options.json);
    BUBBLESCOPE_TRY(sendTelemetry(diagnosed, options, use));
    const bool failed = failsOnAny(options.fail_on, report.anomalies);
    const bool over =
        options.budgets.exceeded(report.selection.stepTime(), report.steps[report.typicalStep()].rates.over_makespan);
    return failed || over ? 1 : 0;
}

CommandResult analyze(AnalyzeArguments& options) {
    if (options.json && options.html.empty() && options.top)
        return usageError("--json contains all findings", "omit --top");
    BUBBLESCOPE_ASSIGN(options.collector, options.otlp.collector());
    JobControl control;
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, options.recognise.options());
    const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
    BUBBLESCOPE_ASSIGN(DiagnosisOptions diagnosis, diagnosisOptions(options));
    BUBBLESCOPE_ASSIGN(const std::optional<DiagnosedRun> in_parts, analyzeInParts(options, known_of, files, diagnosis));
    if (in_parts) return show(*in_parts, options);
    BUBBLESCOPE_ASSIGN(LoadedTrace loaded, watchLoad(control, [&] { return loadTrace(files, control, known_of); }));
    if (loaded.no_pipeline) return analyzeActivity(loaded, options);
    BUBBLESCOPE_ASSIGN(const DiagnosedRun diagnosed, analyzeWhole(std::move(loaded), options, std::move(diagnosis)));
    return show(diagnosed, options);
}

} // namespace

void addAnalyzeCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("analyze", "Find the pipeline in a trace and compare its bubbles with the closed form");
    const auto options = std::make_shared<AnalyzeArguments>();
    command.examples({"analyze my-run --summary", "analyze my-run --html report.html"});
    command.addOption("FILES", options->files, "Trace files or folders; - is standard input").required();
    addStepOptions(command, options->steps,
                   "Analyse only these steps, and show the typical one (default: all but warm-up and outliers)");
    addRankOption(command, options->steps);
    command.optionGroup("Output");
    command.addFlag("--summary", options->summary, "Print three lines: the result, the largest cost, and what to do");
    command
        .addOutput("--html", options->html, OutputKind::File, "Write the report as a single HTML page with charts",
                   {".html", ".htm"})
        .typeName("FILE");
    command
        .addOutput("--csv", options->csv, OutputKind::Tables,
                   "Write steps, accounting, findings, ops, bubbles and transfers as tables to this folder")
        .typeName("FOLDER");
    options->svg.add(command);
    options->otlp.add(command);
    command.addFlag("--json", options->json, "Print a JSON document");
    const Option top = command.addOption("--top", options->top, "Print at most N findings (default: one screenful)")
                           .typeName("N")
                           .positive();
    command.addFlag("--all", options->all, "Print all findings").excludes(top);
    command.optionGroup("Exit code");
    addFailOn(command, options->fail_on);
    options->budgets.add(command);
    command.optionGroup("Diagnosis");
    command
        .addOption("--clocks", options->clocks,
                   "Align the ranks' clocks: if hosts differ or events require it (auto), always, or never")
        .typeName("auto|align|off")
        .oneOf({"auto", "align", "off"})
        .rare();
    command
        .addOption("--in-parts", options->in_parts,
                   "Analyse recordings of Bubblescope's own runs in parts, with bounded memory: if above 1 GiB (auto), "
                   "always, or never")
        .typeName("auto|always|never")
        .oneOf({"auto", "always", "never"})
        .rare();
    command.addOption("--thresholds", options->threshold_file, "Thresholds for findings, as a JSON object")
        .typeName("FILE")
        .rare();
    command
        .addOption("--threshold", options->thresholds, "One threshold; `bubblescope anomalies --thresholds` lists them")
        .typeName("NAME=VALUE")
        .repeatable()
        .rare();
    addMemoryOptions(command, options->memory);
    addModelUseOptions(command, options->use);
    addRecogniseOptions(command, options->recognise);
    command.onParsed([&action, options] { action = [options] { return analyze(*options); }; });
}

} // namespace bubblescope::cli
