#include "app/cli/command.h"
#include "app/cli/fail_on.h"
#include "app/cli/load_options.h"
#include "app/cli/load_watch.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/svg_options.h"
#include "core/analysis/distributed.h"
#include "core/formats/source/replacing_file.h"
#include "core/report/html.h"
#include "core/report/results/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

struct AnalyzeArguments {
    std::vector<std::string> files;
    std::vector<std::string> fail_on;
    std::optional<int> step;
    RecogniseOptions recognise;
    SvgOptions svg;
    std::string html;
    std::string clocks = "auto";
    std::string threshold_file;
    std::vector<std::string> thresholds;
    MemoryOptions memory;
    bool json = false;
};

Result<Thresholds> thresholdsOf(const AnalyzeArguments& options) {
    Thresholds thresholds;
    if (!options.threshold_file.empty()) BUBBLESCOPE_TRY(readThresholds(thresholds, options.threshold_file));
    for (const std::string& assignment : options.thresholds)
        BUBBLESCOPE_TRY(setThreshold(thresholds, assignment));
    return thresholds;
}

/// What the diagnosis takes besides the run.
Result<DiagnosisOptions> diagnosisOptions(const Run& run, const AnalyzeArguments& options) {
    DiagnosisOptions diagnosis;
    BUBBLESCOPE_ASSIGN(diagnosis.thresholds, thresholdsOf(options));
    diagnosis.clocks = options.clocks == "align" ? ClockUse::Align
                       : options.clocks == "off" ? ClockUse::Off
                                                 : ClockUse::Auto;
    BUBBLESCOPE_ASSIGN(const auto memory, options.memory.report(run.schedule));
    if (memory) {
        for (const RankMemory& rank : memory->ranks)
            diagnosis.memory_estimate.push_back(rank.peak());
    }
    return diagnosis;
}

/// Index into the report's steps of the one that is shown rank by rank.
std::size_t shownStep(const RunReport& report, const AnalyzeArguments& options) {
    if (!options.step) return report.typicalStep();
    const auto named =
        std::ranges::find_if(report.steps, [&](const StepAnalysis& step) { return step.index == *options.step; });
    return static_cast<std::size_t>(named - report.steps.begin());
}

/// The step, drawn with the times that are typical of it.
Status drawStep(const Run& run, const RunReport& report, const AnalyzeArguments& options) {
    const std::size_t shown = shownStep(report, options);
    CostModel typical;
    typical.times = report.steps[shown].typical;
    return options.svg.write(std::vector<Drawn>{{run.schedule, run.steps[shown], typical}});
}

report::Document documentFor(report::Reader reader, const DiagnosedRun& diagnosed, const AnalyzeArguments& options) {
    report::AnalysisOptions content;
    content.reader = reader;
    if (options.step) content.step = shownStep(diagnosed.report, options);
    content.version = BUBBLESCOPE_VERSION;
    return report::analysisDocument(diagnosed.run, diagnosed.report, content);
}

Status writePage(const DiagnosedRun& diagnosed, const AnalyzeArguments& options) {
    if (options.html.empty()) return {};
    ReplacingFile file(options.html);
    file.write(report::toHtml(documentFor(report::Reader::Page, diagnosed, options)));
    BUBBLESCOPE_TRY(file.commit());
    fmt::print(stderr, "Report written to {}\n", options.html);
    return {};
}

/// What all processes but the first do: they hold a part of the trace and answer for it.
Status help(const AnalyzeArguments& options, ProcessTeam& team) {
    const Result<LoadOptions> known_of = options.recognise.options();
    if (known_of.ok()) return servePartition(team, known_of.value().rules, analysisTasks());
    // The first process may see what this one does not; if not, it says the same by itself.
    return Coordinator::serve(team, [&](std::string_view) -> Result<std::string> { return known_of.error(); });
}

CommandResult analyze(const AnalyzeArguments& options, ProcessTeam* team) {
    std::optional<Coordinator> lead; // from here on the others are asked or dismissed, whatever happens
    if (team != nullptr && team->size() > 1) {
        if (team->isRoot()) {
            lead.emplace(*team);
        } else {
            BUBBLESCOPE_TRY(help(options, *team));
            return 0;
        }
    }
    JobControl control;
    BUBBLESCOPE_ASSIGN(const LoadOptions known_of, options.recognise.options());
    const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
    BUBBLESCOPE_ASSIGN(Run loaded, watchLoad(control, [&] {
                           return lead ? loadRun(files, control, known_of, *lead) : loadRun(files, control, known_of);
                       }));
    BUBBLESCOPE_ASSIGN(const DiagnosisOptions diagnosis, diagnosisOptions(loaded, options));
    BUBBLESCOPE_ASSIGN(const DiagnosedRun diagnosed, diagnoseRun(std::move(loaded), diagnosis));
    const auto& [run, report] = diagnosed;
    const bool known =
        !options.step || std::ranges::any_of(report.steps, [&](const auto& s) { return s.index == *options.step; });
    if (!known) {
        return usageError(
            fmt::format("there is no step {}", *options.step),
            fmt::format("steps {} to {} are complete", report.steps.front().index, report.steps.back().index));
    }
    BUBBLESCOPE_TRY(drawStep(run, report, options));
    BUBBLESCOPE_TRY(writePage(diagnosed, options));
    printProblems(run.problems);
    print(documentFor(options.json ? report::Reader::Programs : report::Reader::Text, diagnosed, options),
          options.json);
    const bool failed = std::ranges::any_of(
        report.anomalies, [&](const Anomaly& anomaly) { return failsOnFinding(options.fail_on, anomaly.kind); });
    return failed ? 1 : 0;
}

} // namespace

void addAnalyzeCommand(Command app, Action& action, ProcessTeam* team) {
    const Command command =
        app.addCommand("analyze", "Load a trace, find its pipeline, set its bubbles against the closed form");
    const auto options = std::make_shared<AnalyzeArguments>();
    command.addOption("FILES", options->files, "Trace files or directories").required();
    command.addOption("--step", options->step, "The step to show rank by rank (the one of median length)")
        .typeName("N");
    command
        .addOption("--fail-on", options->fail_on,
                   "Exit with 1 on findings of these kinds: any, or those 'bubblescope anomalies' lists")
        .typeName("KIND")
        .delimiter(',')
        .oneOf(failKinds());
    command
        .addOption("--clocks", options->clocks,
                   "Align the ranks' clocks: where hosts differ or events call for it (auto), always, or never")
        .typeName("auto|align|off")
        .oneOf({"auto", "align", "off"});
    command.addOption("--thresholds", options->threshold_file, "Thresholds of findings, as a JSON object")
        .typeName("FILE");
    command
        .addOption("--threshold", options->thresholds, "One threshold; 'bubblescope anomalies --thresholds' lists them")
        .typeName("NAME=VALUE");
    options->memory.add(command);
    command.addOption("--html", options->html, "Write a report as one HTML file, with pictures, for others to read")
        .typeName("FILE");
    options->recognise.add(command);
    options->svg.add(command);
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options, team] { action = [options, team] { return analyze(*options, team); }; });
}

} // namespace bubblescope::cli
