#include "app/cli/command.h"
#include "app/cli/lowering_options.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/queue_options.h"
#include "app/cli/schedule_options.h"
#include "app/cli/svg_options.h"
#include "app/cli/trace_output.h"
#include "core/base/field.h"
#include "core/report/json.h"
#include "core/report/results/simulation.h"

#include <fmt/format.h>

#include <memory>
#include <span>

namespace bubblescope::cli {
namespace {

struct SimulateArguments {
    ScheduleRequest schedule;
    SvgOptions svg;
    MemoryRequest memory;
    LoweringRequest lowering;
    QueueRequest queues;
    WeightTimes weights;
    std::string out;
    std::vector<std::string> compare;
    bool choices = false;
    bool ops = false;
    bool json = false;
};

/// Sends and streams that a model states, which actions and communicators replace.
bool statesTransfers(const TransferModel& transfers) {
    return transfers.sends != SendMode::Asynchronous || transfers.streams != CommStreams::Unlimited ||
           transfers.on_compute_stream;
}

/// With its actions if it has any and another kind of transfers is not asked for, or if actions are asked for.
Result<report::Simulated> simulateOne(const SimulateArguments& options, Schedule schedule, const CostModel& costs) {
    const bool asked = options.lowering.wanted() || options.queues.given();
    if (statesTransfers(costs.transfers)) {
        if (!asked) return report::simulated(std::move(schedule), costs, options.memory);
        return usageError(fmt::format("{} and {} replace {} and {}", Field("lower"), Field("communicators"),
                                      Field("sends"), Field("comm_streams")),
                          "give only one of the two");
    }
    BUBBLESCOPE_ASSIGN(LoweredSchedule lowered, options.lowering.lowered(std::move(schedule), options.schedule.file));
    const bool given = !lowered.actions.empty() && (lowered.order.pp == 1 || lowered.hasTransfers());
    if (!given && !asked) return report::simulated(std::move(lowered.order), costs, options.memory);
    if (!given) {
        LoweringRequest lowering = options.lowering;
        lowering.lower = "torch";
        BUBBLESCOPE_ASSIGN(lowered, lowering.lowered(std::move(lowered.order), {}));
    }
    BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(lowered.order));
    return report::simulated(lowered, costs, queues, options.weights, options.memory);
}

Status draw(const SimulateArguments& options, std::span<const report::Simulated> runs, const CostModel& costs) {
    std::vector<report::Drawn> drawn;
    for (const report::Simulated& run : runs) {
        drawn.push_back({run.schedule, run.step, costs, {}});
        if (run.queues) drawn.back().actions = run.queues->actions;
    }
    return options.svg.write(drawn);
}

CommandResult compare(const SimulateArguments& options, report::Simulated first, const CostModel& costs) {
    std::vector<report::Simulated> runs{std::move(first)};
    for (const std::string& name : options.compare) {
        BUBBLESCOPE_ASSIGN(Schedule schedule, options.schedule.sibling(name, costs));
        BUBBLESCOPE_ASSIGN(report::Simulated other, simulateOne(options, std::move(schedule), costs));
        runs.push_back(std::move(other));
    }
    BUBBLESCOPE_TRY(draw(options, runs, costs));
    print(options.json ? report::simulationsData(runs, options.ops) : report::simulationsDocument(runs), options.json);
    return 0;
}

CommandResult run(const SimulateArguments& options) {
    ScheduleRequest request = options.schedule;
    options.lowering.chooseFlavor(request.spec);
    BUBBLESCOPE_ASSIGN(Planned planned, request.plan(TimeNs{1'000'000}));
    const CostModel& costs = planned.costs;
    BUBBLESCOPE_ASSIGN(report::Simulated result, simulateOne(options, std::move(planned.schedule), costs));
    if (!options.out.empty()) {
        BUBBLESCOPE_TRY(writeStep(options.out, RunInfo::of("simulate", result.schedule), result.step));
    }
    if (!options.compare.empty()) return compare(options, std::move(result), costs);
    BUBBLESCOPE_TRY(draw(options, {&result, 1}, costs));
    report::Document document = report::simulationDocument(result, options.ops && options.json);
    if (options.choices) {
        BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(result.schedule));
        BUBBLESCOPE_ASSIGN(const auto choices,
                           communicationChoices(result.schedule, costs, options.lowering, queues, options.weights));
        report::addChoices(document, choices);
    }
    print(document, options.json);
    if (!options.json) {
        if (options.ops)
            printText("\n" + report::toJson(report::simulatedOps(result.step), report::JsonLayout::OneLine) + "\n");
        if (!options.out.empty()) printText(fmt::format("\nTrace written to {}\n", options.out));
    }
    return 0;
}

} // namespace

void addSimulateCommand(Command app, Action& action) {
    const Command command = app.addCommand("simulate", "Run a schedule on op times: makespan, bubbles, memory");
    const auto options = std::make_shared<SimulateArguments>();
    command.examples({"simulate --schedule interleaved --pp 4 --microbatches 8 --vpp 2 --forward 5ms",
                      "simulate --schedule 1f1b --pp 4 --microbatches 8 --compare zb-h1,zb-v --svg both.svg"});
    addScheduleOptions(command, options->schedule);
    addTimeOptions(command, options->schedule);
    command.optionGroup("Output");
    command
        .addOption(
            "--compare", options->compare,
            "Also run these schedules at the same sizes: NAME, NAME/FLAVOR or /FLAVOR; prints tables and timelines")
        .typeName("LIST")
        .delimiter(',');
    command
        .addOutput("--out", options->out, OutputKind::File,
                   "Write the timeline as a trace; the format follows the name: .pftrace, .json, .csv")
        .typeName("FILE");
    command.addFlag("--ops", options->ops, "List every op with its start and end");
    command.addFlag("--json", options->json, "As a JSON document");
    options->svg.add(command);
    addLoweringOptions(command, options->lowering);
    addQueueOptions(command, options->queues);
    command
        .addFlag("--communication-choices", options->choices,
                 "List the choices of receives and communicators that cannot hang, and what they cost")
        .group("Sends, receives and weights")
        .rare();
    addWeightTimeOptions(command, options->weights);
    addSimulationOptions(command, options->schedule);
    addMemoryOptions(command, options->memory);
    command.onParsed([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
