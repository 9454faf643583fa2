#include "app/cli/command.h"
#include "app/cli/whatif_output.h"

#include <fmt/format.h>

#include <memory>

namespace bubblescope::cli {
namespace {

struct Options {
    std::vector<std::string> files;
    std::vector<std::string> changes;
    std::vector<int> steps;
    std::vector<int> layers;
    double input_share = 50;
    double max_error = 100 * kMostReplayError;
    bool json = false;
};

CommandResult whatIf(const Options& options) {
    BUBBLESCOPE_ASSIGN(const Scenario scenario, parseScenario(options.changes));
    JobControl control;
    BUBBLESCOPE_ASSIGN(const Run run, loadRun({options.files.begin(), options.files.end()}, control));
    BUBBLESCOPE_ASSIGN(const ReplayModel model, replayModel(run, options.steps));
    const double most_error = options.max_error / 100;
    BUBBLESCOPE_ASSIGN(const StragglerStudy study, studyStragglers(model, most_error));
    printProblems(run.problems);
    if (options.changes.empty()) {
        if (options.json) {
            printJson(studyJson(model, study));
        } else {
            printText(studyText(model, study));
        }
        return 0;
    }
    const ModelCut cut{options.layers, options.input_share / 100};
    BUBBLESCOPE_ASSIGN(const Prediction prediction, predict(model, run.schedule, scenario, cut, most_error));
    if (options.json) {
        Json document = studyJson(model, study);
        document["scenario"] = predictionJson(options.changes, prediction);
        printJson(document);
    } else {
        printText(predictionText(options.changes, prediction));
    }
    return 0;
}

} // namespace

void addWhatIfCommand(CLI::App& app, Action& action) {
    auto* const command =
        app.add_subcommand("whatif", "Replay a trace with other times: who makes the step slow, what would help");
    const auto options = std::make_shared<Options>();
    command->add_option("FILES", options->files, "Trace files or directories")->required();
    command
        ->add_option("--if", options->changes,
                     "A change, such as rank:3=usual, link:2-3=2x, compute=steady, comm=0, stage:7=-20%, "
                     "schedule=zb-v, vpp=2, layers=9,9,9,5; several add up")
        ->type_name("CHANGE")
        ->expected(1)
        ->take_all();
    command->add_option("--step", options->steps, "Only these steps (all)")->type_name("N")->delimiter(',');
    command->add_option("--layers", options->layers, "How many layers each stage of the trace has")
        ->type_name("N,N,…")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    command
        ->add_option("--input-share", options->input_share,
                     "Part of a whole backward that is the gradient for the input, where a schedule splits it (50)")
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 100.0));
    command
        ->add_option("--max-error", options->max_error,
                     "How far the replay may be off the steps that were measured (5)")
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 1e6));
    command->add_flag("--json", options->json, "As a JSON document");
    command->callback([&action, options] { action = [options] { return whatIf(*options); }; });
}

} // namespace bubblescope::cli
