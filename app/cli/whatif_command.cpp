#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/run_model_options.h"
#include "core/report/results/whatif.h"

#include <memory>

namespace bubblescope::cli {
namespace {

struct WhatifArguments {
    RunModelOptions run;
    std::vector<std::string> changes;
    bool json = false;
};

CommandResult whatIf(const WhatifArguments& options) {
    BUBBLESCOPE_ASSIGN(const Scenario scenario, parseScenario(options.changes));
    BUBBLESCOPE_ASSIGN(const Run run, options.run.load());
    BUBBLESCOPE_ASSIGN(const RunModel model, options.run.model(run));
    const Result<StragglerStudy> study = studyStragglers(model, options.run.mostError());
    if (options.changes.empty()) {
        if (!study.ok()) return study.error();
        printProblems(run.problems);
        print(report::studyDocument(model, study.value()), options.json);
        return 0;
    }
    BUBBLESCOPE_ASSIGN(const Prediction prediction,
                       predict(model, run.schedule, scenario, options.run.cut(), options.run.mostError()));
    printProblems(run.problems);
    report::Document answer = report::predictionDocument(options.changes, prediction);
    if (!options.json) {
        print(answer, false);
        return 0;
    }
    // Late starts keep the study from saying anything, not the scenario, where they stay.
    report::Document document;
    if (study.ok())
        document = report::studyDocument(model, study.value());
    else
        document.data("study_refused", study.error().text());
    answer.key = "scenario";
    document.add(static_cast<report::Section&&>(answer));
    print(document, true);
    return 0;
}

} // namespace

void addWhatIfCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("whatif", "Replay a trace with other times: who makes the step slow, what would help");
    const auto options = std::make_shared<WhatifArguments>();
    options->run.add(command);
    command
        .addOption("--if", options->changes,
                   "A change, such as rank:3=usual, link:2-3=2x, compute=steady, comm=0, stage:7=-20%, "
                   "schedule=zb-v, vpp=2, split=2, layers=9,9,9,5; several add up")
        .typeName("CHANGE")
        .repeatable();
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return whatIf(*options); }; });
}

} // namespace bubblescope::cli
