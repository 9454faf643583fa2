#include "app/cli/command.h"
#include "app/cli/lowering_options.h"
#include "app/cli/order_output.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/svg_options.h"
#include "core/graph/simulate.h"
#include "core/graph/simulate_lowered.h"
#include "core/report/json.h"
#include "core/report/results/sweep.h"
#include "core/report/results/validation.h"
#include "core/schedule/schedule_files.h"
#include "core/timeline/text_chart.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace bubblescope::cli {
namespace {

struct ScheduleArguments {
    ScheduleRequest schedule;
    LoweringRequest lowering;
    SvgOptions svg;
    OrderOutput output;
    bool json = false;
    bool csv = false;
};

/// Actions of each rank, with PyTorch's names.
std::string actionLists(const LoweredSchedule& lowered) {
    std::string text;
    for (std::size_t r = 0; r < lowered.actions.size(); ++r)
        text += fmt::format("rank {}: {}\n", r, fmt::join(actionCells(lowered, Rank{r}), " "));
    return text;
}

Status printForPeople(const LoweredSchedule& lowered, const CostModel& costs) {
    const Schedule& schedule = lowered.order;
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(schedule, costs));
    printText(fmt::format("{}, {} placement\n", scheduleTitle(schedule), placementName(schedule.placement)));
    const std::string chart = textChart(step);
    if (!lowered.actions.empty()) {
        printText(actionLists(lowered));
        if (lowered.hasTransfers()) printText(report::safeCommunicatorsLine(verdictsOfAll(lowered, {})) + "\n");
    } else if (chart.empty()) {
        printText("Only the order is shown, since a chart drawn to scale would be too wide:\n" + orderText(schedule));
    } else {
        const std::string times = costs.equalStages()
                                      ? fmt::format("forward {}, backward {}", formatTime(costs.times.forward),
                                                    formatTime(costs.times.backward))
                                      : "the times given";
        printText(fmt::format("Drawn to scale for {}; '.' is a bubble:\n{}", times, chart));
        if (const std::string meaning = report::opMeaning(schedule, costs); !meaning.empty()) printText(meaning + "\n");
    }
    return {};
}

/// Draws the actions if there are any, without queues for transfers.
Status draw(const SvgOptions& svg, const LoweredSchedule& lowered, const CostModel& costs) {
    LoweredStep drawn;
    if (lowered.hasTransfers()) {
        BUBBLESCOPE_ASSIGN(drawn, simulateLowered(lowered, costs, {}));
    } else {
        BUBBLESCOPE_ASSIGN(drawn.step, simulate(lowered.order, costs));
    }
    const report::Drawn one{lowered.order, drawn.step, costs, drawn.actions};
    return svg.write({&one, 1});
}

CommandResult printSchedule(const ScheduleArguments& options) {
    ScheduleRequest request = options.schedule;
    options.lowering.chooseFlavor(request.spec);
    BUBBLESCOPE_ASSIGN(Planned planned, request.plan(TimeNs{1'000'000}));
    const CostModel& costs = planned.costs;
    BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered,
                       options.lowering.lowered(std::move(planned.schedule), request.file));
    if (options.svg.wanted()) {
        BUBBLESCOPE_TRY(draw(options.svg, lowered, costs));
    }
    BUBBLESCOPE_ASSIGN(const std::optional<OrderSetup> setup, options.output.write(lowered));
    if (setup) {
        report::Document document;
        addSetup(document, setup);
        print(document, options.json);
        if (!options.json) printText(options.output.writtenLine());
        return 0;
    }
    if (options.csv) {
        BUBBLESCOPE_ASSIGN(const std::string text, scheduleToCsv(lowered));
        printText(text);
        return 0;
    }
    if (options.json) {
        std::string text = scheduleToJson(lowered) + "\n";
        text.insert(1, fmt::format(R"("schema_version":{},)", report::kSchemaVersion));
        printText(text);
        return 0;
    }
    BUBBLESCOPE_TRY(printForPeople(lowered, costs));
    printText(options.output.writtenLine());
    return 0;
}

} // namespace

void addScheduleCommand(Command app, Action& action) {
    const Command command = app.addCommand("schedule", "Print the order in which each rank runs its ops");
    const auto options = std::make_shared<ScheduleArguments>();
    command.examples({"schedule --schedule 1f1b --pp 4 --microbatches 6",
                      "schedule --schedule ZBVZeroBubble --pp 4 --microbatches 8 --out order.csv",
                      "schedule --schedule Interleaved1F1B --pp 4 --microbatches 8 --lower torch --csv"});
    addScheduleOptions(command, options->schedule);
    addTimeOptions(command, options->schedule);
    command.optionGroup("Output");
    const Option json = command.addFlag("--json", options->json, "Print a JSON document");
    command.addFlag("--csv", options->csv, "Print PyTorch's schedule file").excludes(json);
    options->output.add(command);
    options->svg.add(command);
    addLoweringOptions(command, options->lowering);
    addSimulationOptions(command, options->schedule);
    command.onParsed([&action, options] { action = [options] { return printSchedule(*options); }; });
}

} // namespace bubblescope::cli
