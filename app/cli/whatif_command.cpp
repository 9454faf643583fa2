#include "app/cli/command.h"
#include "app/cli/fail_on.h"
#include "app/cli/output.h"
#include "app/cli/run_model_options.h"
#include "core/analysis/steps/run_analyzer.h"
#include "core/report/results/whatif.h"
#include "core/timeline/bubbles.h"

#include <algorithm>
#include <memory>

namespace bubblescope::cli {
namespace {

struct WhatifArguments {
    RunModelRequest run;
    std::vector<std::string> changes;
    std::vector<std::string> fail_on;
    Budgets budgets;
    bool json = false;
};

bool asksToFail(const WhatifArguments& options, const std::string& on) {
    return std::ranges::find(options.fail_on, on) != options.fail_on.end();
}

/// Exit code for the steps as recorded.
int exitCodeOf(const WhatifArguments& options, const Run& run, const RunModel& model, const StragglerStudy& study) {
    const double idle = bubbleRates(run.steps[model.selection.typicalTimeline()]).over_makespan;
    const bool over = options.budgets.exceeded(model.step_time, idle);
    return over || (asksToFail(options, "straggling") && study.slowdown >= kStragglingSlowdown) ? 1 : 0;
}

/// Exit code for the predicted steps.
int exitCodeOf(const WhatifArguments& options, const Prediction& prediction) {
    TimeNs idle{0};
    for (const Prediction::RankBubble& rank : prediction.ranks)
        idle += rank.after;
    const auto ranks = static_cast<std::int64_t>(std::max<std::size_t>(1, prediction.ranks.size()));
    const bool over = options.budgets.exceeded(prediction.predicted(), fractionOf(idle / ranks, prediction.after));
    return over || (asksToFail(options, "slower") && prediction.change() > TimeNs{0}) ? 1 : 0;
}

CommandResult whatIf(const WhatifArguments& options) {
    BUBBLESCOPE_ASSIGN(const Scenario scenario, parseScenario(options.changes));
    BUBBLESCOPE_ASSIGN(const AlignedRun run, loadAligned(options.run));
    BUBBLESCOPE_ASSIGN(const RunModel model, options.run.model(run.run, run.clocks));
    BUBBLESCOPE_TRY(checkError(model, options.run.mostError()));
    if (options.changes.empty()) {
        const StragglerStudy study = studyStragglers(model);
        printProblems(run.run.problems);
        print(report::studyDocument(model, study), options.json);
        return exitCodeOf(options, run.run, model, study);
    }
    BUBBLESCOPE_ASSIGN(const ModelCut cut, options.run.cut(run.run));
    BUBBLESCOPE_ASSIGN(const Prediction prediction, predict(model, run.run.schedule, scenario, cut));
    printProblems(run.run.problems);
    print(options.json ? report::scenarioDocument(model, options.changes, prediction)
                       : report::predictionDocument(options.changes, prediction),
          options.json);
    return exitCodeOf(options, prediction);
}

} // namespace

void addWhatIfCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("whatif", "Replay a trace with changed times: what slows the step, what would help");
    const auto options = std::make_shared<WhatifArguments>();
    command.examples({"whatif my-run", "whatif my-run --if rank:3=usual --if comm=0"});
    addRunModelOptions(command, options->run);
    command
        .addOption("--if", options->changes,
                   "A change, such as rank:3=usual, link:2-3=2x, compute=steady, comm=0, stage:7=-20%, schedule=zb-v, "
                   "vpp=2, split=2, layers=9,9,9,5, communicators=edge, receives=deferred; may be repeated")
        .typeName("CHANGE")
        .repeatable();
    command
        .addOption("--fail-on", options->fail_on,
                   "Exit with 1 if stragglers slow the run (S of 1.1 or more), or if --if makes it slower")
        .typeName("straggling|slower")
        .delimiter(',')
        .oneOf({"straggling", "slower"});
    options->budgets.add(command);
    command.addFlag("--json", options->json, "Print a JSON document");
    command.onParsed([&action, options] { action = [options] { return whatIf(*options); }; });
}

} // namespace bubblescope::cli
