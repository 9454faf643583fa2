#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "core/report/results/formula.h"

#include <memory>
#include <utility>

namespace bubblescope::cli {
namespace {

struct FormulaArguments {
    ScheduleRequest schedule;
    bool explain = false;
    bool json = false;
};

CommandResult run(const FormulaArguments& options) {
    BUBBLESCOPE_ASSIGN(Planned planned, options.schedule.plan(TimeNs{1'000'000}));
    BUBBLESCOPE_ASSIGN(const report::Formula formula,
                       report::formulaOf(std::move(planned.schedule), std::move(planned.costs)));
    print(report::formulaDocument(formula, options.explain), options.json);
    return 0;
}

} // namespace

void addFormulaCommand(Command app, Action& action) {
    const Command command = app.addCommand("formula", "Print a schedule's closed-form bubbles, by rank and position");
    const auto options = std::make_shared<FormulaArguments>();
    command.examples({"formula --schedule 1f1b --pp 4 --microbatches 8 --forward 5ms --backward 10ms",
                      "formula --schedule zb-h1 --pp 8 --microbatches 32 --explain"});
    addScheduleOptions(command, options->schedule);
    addTimeOptions(command, options->schedule);
    command.optionGroup("Output");
    command.addFlag("--explain", options->explain, "Add formulas quoted from papers, each with a verdict");
    command.addFlag("--json", options->json, "Print a JSON document");
    addSimulationOptions(command, options->schedule);
    command.onParsed([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
