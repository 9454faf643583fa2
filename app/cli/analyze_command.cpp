#include "app/cli/analysis_output.h"
#include "app/cli/command.h"
#include "app/cli/svg_options.h"

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
    bool json = false;
};

bool isFinding(const Anomaly& anomaly, const std::vector<std::string>& kinds) {
    return std::ranges::any_of(kinds, [&](const std::string& kind) { return kind == "any" || kind == anomaly.kind; });
}

/// The step that is shown rank by rank, drawn with the times that are typical of it.
Status drawStep(const Run& run, const RunReport& report, const Options& options) {
    std::size_t shown = report.typical_step;
    if (options.step) {
        const auto named =
            std::ranges::find_if(report.steps, [&](const StepAnalysis& step) { return step.index == *options.step; });
        shown = static_cast<std::size_t>(named - report.steps.begin());
    }
    CostModel typical;
    typical.times = report.steps[shown].typical;
    return options.svg.write(std::vector<Drawn>{{run.schedule, run.steps[shown], typical}});
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
    options->svg.add(*command);
    command->add_flag("--json", options->json, "As a JSON document");
    command->callback([&action, options] { action = [options] { return analyze(*options); }; });
}

} // namespace bubblescope::cli
