#include "app/cli/analysis_output.h"
#include "app/cli/command.h"
#include "app/cli/svg_options.h"
#include "core/report/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

namespace bubblescope::cli {
namespace {

struct Options {
    std::vector<std::string> files;
    std::vector<std::string> fail_on;
    std::optional<int> step;
    SvgOptions svg;
    std::string html;
    bool json = false;
};

bool isFinding(const Anomaly& anomaly, const std::vector<std::string>& kinds) {
    return std::ranges::any_of(kinds, [&](const std::string& kind) { return kind == "any" || kind == anomaly.kind; });
}

/// Index into the report's steps of the one that is shown rank by rank.
std::size_t shownStep(const RunReport& report, const Options& options) {
    if (!options.step) return report.typical_step;
    const auto named =
        std::ranges::find_if(report.steps, [&](const StepAnalysis& step) { return step.index == *options.step; });
    return static_cast<std::size_t>(named - report.steps.begin());
}

/// The step, drawn with the times that are typical of it.
Status drawStep(const Run& run, const RunReport& report, const Options& options) {
    const std::size_t shown = shownStep(report, options);
    CostModel typical;
    typical.times = report.steps[shown].typical;
    return options.svg.write(std::vector<Drawn>{{run.schedule, run.steps[shown], typical}});
}

Status writePage(const Run& run, const RunReport& report, const Options& options) {
    if (options.html.empty()) return {};
    RunPageOptions page;
    if (options.step) page.step = shownStep(report, options);
    page.version = BUBBLESCOPE_VERSION;
    BUBBLESCOPE_TRY(writeRunPage(options.html, run, report, page));
    fmt::print(stderr, "Report written to {}\n", options.html);
    return {};
}

CommandResult analyze(const Options& options) {
    JobControl control;
    BUBBLESCOPE_ASSIGN(const Run run, loadRun({options.files.begin(), options.files.end()}, control));
    const RunReport report = analyzeRun(run);
    const bool known =
        !options.step || std::ranges::any_of(report.steps, [&](const auto& s) { return s.index == *options.step; });
    if (!known) {
        return usageError(
            fmt::format("there is no step {}", *options.step),
            fmt::format("steps {} to {} are complete", report.steps.front().index, report.steps.back().index));
    }
    BUBBLESCOPE_TRY(drawStep(run, report, options));
    BUBBLESCOPE_TRY(writePage(run, report, options));
    printProblems(run.problems);
    if (options.json) {
        printJson(analysisJson(run, report));
    } else {
        printText(analysisText(run, report, options.step));
    }
    const bool failed =
        std::ranges::any_of(report.anomalies, [&](const Anomaly& a) { return isFinding(a, options.fail_on); });
    return failed ? 1 : 0;
}

} // namespace

void addAnalyzeCommand(CLI::App& app, Action& action) {
    auto* const command =
        app.add_subcommand("analyze", "Load a trace, find its pipeline, set its bubbles against the closed form");
    const auto options = std::make_shared<Options>();
    command->add_option("FILES", options->files, "Trace files or directories")->required();
    command->add_option("--step", options->step, "The step to show rank by rank (the one of median length)")
        ->type_name("N");
    command->add_option("--fail-on", options->fail_on, "Exit with 1 on findings of these kinds: slow-stage, any")
        ->type_name("KIND")
        ->delimiter(',')
        ->check(CLI::IsMember({"any", "slow-stage"}));
    command->add_option("--html", options->html, "Write a report as one HTML file, with pictures, for others to read")
        ->type_name("FILE");
    options->svg.add(*command);
    command->add_flag("--json", options->json, "As a JSON document");
    command->callback([&action, options] { action = [options] { return analyze(*options); }; });
}

} // namespace bubblescope::cli
