#include "app/cli/command.h"
#include "app/cli/dispatch_options.h"
#include "app/cli/lowering_options.h"
#include "app/cli/memory_options.h"
#include "app/cli/moving_stages.h"
#include "app/cli/output.h"
#include "app/cli/queue_options.h"
#include "app/cli/schedule_options.h"
#include "app/cli/svg_options.h"
#include "app/cli/trace_output.h"
#include "core/base/field.h"
#include "core/cost/partition.h"
#include "core/formats/source/replacing_file.h"
#include "core/formats/source/standard_output.h"
#include "core/report/json.h"
#include "core/report/plot/line_chart.h"
#include "core/report/results/simulation.h"
#include "core/report/results/sweep.h"
#include "core/report/table_formats.h"
#include "runtime/faulty_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
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
    std::optional<int> nodes;
    DispatchPolicy dispatch;
    std::vector<std::string> faults;
    int steps = 1;
    std::string out;
    std::vector<std::string> compare;
    std::vector<SweepAxis> axes;
    std::string times_of;
    std::string csv;
    std::string latex;
    std::string markdown;
    std::string figure;
    bool choices = false;
    bool weight_choices = false;
    bool ops = false;
    bool json = false;

    /// True if a table is written to standard output, where a report must not be mixed with it.
    [[nodiscard]] bool writesToStandardOutput() const {
        return csv == kStandardOutput || latex == kStandardOutput || markdown == kStandardOutput ||
               figure == kStandardOutput;
    }
};

constexpr TimeNs kUsualForward{1'000'000};

/// True if a model specifies sends and streams, which actions and communicators replace.
bool statesTransfers(const TransferModel& transfers) {
    return transfers.sends != SendMode::Asynchronous || transfers.streams != CommStreams::Unlimited ||
           transfers.on_compute_stream;
}

/// Rejects times of weight actions that no rank performs.
Status checkWeightTimes(const WeightTimes& times, const std::vector<std::vector<bubblescope::Action>>& actions) {
    const auto has = [&](ActionKind kind) {
        return std::ranges::any_of(actions, [kind](const std::vector<bubblescope::Action>& rank) {
            return std::ranges::any_of(rank, [kind](const bubblescope::Action& action) { return action.kind == kind; });
        });
    };
    if (times.host_copy > TimeNs{0} && !has(ActionKind::Offload))
        return usageError(fmt::format("{} has no effect: the order does not offload activations", "--host-copy"),
                          "search for such an order, or write one in a schedule file");
    const bool unused_unshard = times.unshard > TimeNs{0} && !has(ActionKind::Unshard);
    const bool unused_reduce = times.reduce_grad > TimeNs{0} && !has(ActionKind::ReduceGrad);
    if (!unused_unshard && !unused_reduce) return {};
    return usageError(fmt::format("{} has no effect: the order has no such actions",
                                  unused_unshard ? Field("unshard") : Field("reduce_grad")),
                      fmt::format("add {}", Field("lower").is("torch")));
}

Result<std::vector<runtime::Fault>> faultsOf(const SimulateArguments& options, const Schedule& schedule) {
    std::vector<runtime::Fault> faults;
    for (const std::string& text : options.faults) {
        BUBBLESCOPE_ASSIGN(faults.emplace_back(), runtime::parseFault(text));
    }
    BUBBLESCOPE_TRY(runtime::checkFaults(faults, schedule, options.steps));
    return faults;
}

/// Applies the faults of the step, and replaces the order with the order that ranks choose dynamically.
Status disturb(const SimulateArguments& options, Schedule& schedule, CostModel& costs) {
    BUBBLESCOPE_ASSIGN(const std::vector<runtime::Fault> faults, faultsOf(options, schedule));
    BUBBLESCOPE_ASSIGN(costs, runtime::faultyCosts(schedule, std::move(costs), faults, 0));
    if (!options.dispatch.dynamic()) return {};
    BUBBLESCOPE_ASSIGN(schedule, dispatched(schedule, costs, options.dispatch));
    return {};
}

/// Compares step times for the listed order with those for the order that ranks choose dynamically.
Status addDispatch(report::Document& document, const SimulateArguments& options, const Schedule& hint,
                   const CostModel& costs) {
    if (!options.dispatch.dynamic() && options.steps == 1) return {};
    BUBBLESCOPE_ASSIGN(const std::vector<runtime::Fault> faults, faultsOf(options, hint));
    BUBBLESCOPE_ASSIGN(const auto list, runtime::simulateFaulty(hint, costs, faults, options.steps));
    BUBBLESCOPE_ASSIGN(const auto chosen,
                       runtime::simulateFaulty(hint, costs, faults, options.steps, options.dispatch));
    report::Table table("dispatch",
                        {report::column("rule", "rule", report::Align::Left), report::column("mean_ns", "mean step"),
                         report::column("late_ns", "95 of 100"), report::column("speedup", "speedup")});
    const auto row = [&](DispatchRule rule, const runtime::FaultySteps& steps) {
        const double speedup = static_cast<double>(list.mean.count()) / static_cast<double>(steps.mean.count());
        table.row(std::string(dispatchRuleName(rule)), steps.mean, steps.late,
                  report::Cell(speedup).as(fmt::format("{:.3f} ×", speedup)));
    };
    row(DispatchRule::List, list);
    if (options.dispatch.dynamic()) {
        BUBBLESCOPE_ASSIGN(const int limit, inFlightLimit(hint, options.dispatch));
        document.line(fmt::format("Dispatch: each rank runs a ready op, with {} as a hint and at most {} activations",
                                  scheduleTitle(hint), limit));
        row(options.dispatch.rule, chosen);
    }
    document.add(std::move(table));
    return {};
}

/// Simulates with actions if requested, or if the order contains actions and no other kind of transfers was requested.
Result<report::Simulated> simulateOne(const SimulateArguments& options, Schedule schedule, CostModel& costs) {
    const bool asked = options.lowering.wanted() || options.queues.given();
    BUBBLESCOPE_TRY(disturb(options, schedule, costs));
    BUBBLESCOPE_ASSIGN(SliceParts parts, options.schedule.slices(schedule));
    MemoryRequest memory = options.memory;
    memory.slice_tokens = std::move(parts.tokens);
    if (statesTransfers(costs.transfers)) {
        if (!asked) {
            BUBBLESCOPE_TRY(checkWeightTimes(options.weights, {}));
            return report::simulated(std::move(schedule), costs, memory);
        }
        return usageError(fmt::format("{} and {} replace {} and {}", Field("lower"), Field("communicators"),
                                      Field("sends"), Field("comm_streams")),
                          "specify only one of the two");
    }
    BUBBLESCOPE_ASSIGN(LoweredSchedule lowered, options.lowering.lowered(std::move(schedule), options.schedule.file));
    BUBBLESCOPE_TRY(checkWeightTimes(options.weights, lowered.actions));
    if (lowered.movesActivations() && !lowered.hasTransfers()) lowered = withTransfers(std::move(lowered));
    const bool given = !lowered.actions.empty() && (lowered.order.pp == 1 || lowered.hasTransfers());
    if (!given && !asked) return report::simulated(std::move(lowered.order), costs, memory);
    if (!given) {
        LoweringRequest lowering = options.lowering;
        lowering.lower = "torch";
        BUBBLESCOPE_ASSIGN(lowered, lowering.lowered(std::move(lowered.order), {}));
    }
    BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(lowered.order));
    return report::simulated(lowered, costs, queues, options.weights, memory);
}

Status writeText(const std::string& name, const std::string& text) {
    ReplacingFile file(name);
    file.write(text);
    BUBBLESCOPE_TRY(file.commit());
    if (name != kStandardOutput) fmt::print(stderr, "Written to {}\n", name);
    return {};
}

Status writeTables(const SimulateArguments& options, std::span<const report::SweptRun> runs,
                   std::span<const SweepAxis> axes) {
    const report::Table table = report::sweepTable(runs, axes);
    if (!options.csv.empty()) BUBBLESCOPE_TRY(writeText(options.csv, report::toCsv(table)));
    if (!options.latex.empty()) BUBBLESCOPE_TRY(writeText(options.latex, report::toLatex(table)));
    if (!options.markdown.empty()) BUBBLESCOPE_TRY(writeText(options.markdown, report::toMarkdown(table)));
    if (options.figure.empty()) return {};
    const plot::Canvas figure = plot::draw(report::sweepChart(runs, axes));
    return writeText(options.figure, options.figure.ends_with(".pdf") ? plot::toPdf(figure) : plot::toSvg(figure));
}

Status draw(const SimulateArguments& options, std::span<const report::SweptRun> runs) {
    std::vector<report::Drawn> drawn;
    for (const report::SweptRun& swept : runs) {
        if (!swept.run) continue;
        drawn.push_back({swept.run->schedule, swept.run->step, swept.costs, {}});
        if (swept.run->queues) drawn.back().actions = swept.run->queues->actions;
    }
    return options.svg.write(drawn);
}

/// The schedules of --compare come after the first one.
std::vector<SweepAxis> axesOf(const SimulateArguments& options, const ScheduleRequest& request) {
    std::vector<SweepAxis> axes = options.axes;
    if (options.compare.empty()) return axes;
    const std::string first = request.file.empty() ? request.spec.name : request.file;
    SweepAxis& names = axes.emplace_back(SweepAxis{Field("schedule"), {{first, [](ScheduleRequest&) {}}}});
    for (const std::string& name : options.compare) {
        names.settings.push_back({name, [name](ScheduleRequest& into) {
                                      into.spec.flavor.clear();
                                      nameSchedule(into, name);
                                  }});
    }
    return axes;
}

bool sweepsOver(std::span<const SweepAxis> axes, Field field) {
    return std::ranges::find(axes, field, &SweepAxis::field) != axes.end();
}

/// Number of chunks per rank for which op times are specified; none if they apply to each order.
Result<std::optional<int>> chunksOfTimes(const SimulateArguments& options, const ScheduleRequest& request,
                                         std::span<const SweepAxis> axes) {
    if (options.times_of == "op") return std::optional<int>();
    if (options.times_of == "rank") return std::optional<int>(1);
    if (!options.compare.empty()) {
        BUBBLESCOPE_ASSIGN(const Planned first, request.planShare(kUsualForward, {}));
        return std::optional<int>(chunksOfModel(first.schedule));
    }
    const bool cuts = sweepsOver(axes, Field("schedule")) || sweepsOver(axes, Field("schedule_file")) ||
                      sweepsOver(axes, Field("vpp")) || sweepsOver(axes, Field("flavor"));
    return cuts ? std::optional<int>(1) : std::nullopt;
}

/// Rejects options that apply to a single schedule only.
Status checkSweep(const SimulateArguments& options) {
    const std::string_view one = !options.out.empty()           ? "--out"
                                 : options.steps > 1            ? "--steps"
                                 : options.choices              ? "--communication-choices"
                                 : options.weight_choices       ? "--weight-choices"
                                 : options.ops && !options.json ? "--ops"
                                                                : "";
    if (one.empty()) return {};
    return usageError(fmt::format("{} works with one schedule, but several are compared", one),
                      one == "--ops" ? "add --json" : "simulate that schedule alone");
}

CommandResult sweep(const SimulateArguments& options, ScheduleRequest request, const std::vector<SweepAxis>& axes) {
    BUBBLESCOPE_TRY(checkSweep(options));
    SweepRequest asked{std::move(request), axes, {}};
    BUBBLESCOPE_ASSIGN(asked.chunks_of_times, chunksOfTimes(options, asked.base, axes));
    BUBBLESCOPE_ASSIGN(std::vector<SweepPoint> points, asked.points(kUsualForward));
    std::vector<report::SweptRun> runs;
    std::optional<Error> failed;
    for (SweepPoint& point : points) {
        report::SweptRun& swept = runs.emplace_back();
        swept.settings = std::move(point.settings);
        swept.reason = std::move(point.reason);
        swept.unused = std::move(point.unused);
        if (!point.planned) continue;
        swept.costs = std::move(point.planned->costs);
        Result<report::Simulated> simulated = simulateOne(options, std::move(point.planned->schedule), swept.costs);
        if (simulated.ok()) {
            swept.run = std::move(simulated).value();
        } else {
            swept.reason = simulated.error().message;
            failed = simulated.error();
        }
    }
    const bool any = std::ranges::any_of(runs, [](const report::SweptRun& each) { return each.run.has_value(); });
    if (!any) return *failed;
    BUBBLESCOPE_TRY(draw(options, runs));
    BUBBLESCOPE_TRY(writeTables(options, runs, axes));
    if (options.json)
        print(report::sweepData(runs, axes, asked.chunks_of_times, options.ops), true);
    else if (!options.writesToStandardOutput())
        print(report::sweepDocument(runs, axes, asked.chunks_of_times), false);
    return 0;
}

/// Adds the length of each slice, if the cut of sequences was requested.
Status addSlices(report::Document& document, const ScheduleRequest& request, const Schedule& schedule) {
    BUBBLESCOPE_ASSIGN(const SliceParts parts, request.slices(schedule));
    if (parts.tokens.empty()) return {};
    std::vector<std::string> shares;
    for (const double share : parts.tokens)
        shares.push_back(fmt::format("{:.3g} %", 100 * share));
    document.line(fmt::format("Slices: {} of the sequence", fmt::join(shares, ", ")));
    document.data("slice_shares", parts.tokens);
    return {};
}

/// Adds alternatives for the time of gathering weights, for the order as PyTorch would run it.
Status addWeightChoices(const SimulateArguments& options, const report::Simulated& result, const CostModel& costs,
                        report::Document& document) {
    BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(result.schedule));
    BUBBLESCOPE_ASSIGN(const auto choices, weightChoices(result.schedule, costs, options.lowering, queues,
                                                         options.weights, options.memory));
    LoweringRequest lowering = options.lowering;
    lowering.lower = "torch";
    BUBBLESCOPE_ASSIGN(const LoweredSchedule lowered, lowering.lowered(result.schedule, {}));
    BUBBLESCOPE_ASSIGN(const auto late, earlierUnshards(lowered, costs, queues, options.weights));
    report::addWeightChoices(document, choices, late);
    return {};
}

/// Memory use of each rank over time, if there is a memory model.
std::vector<perfetto::RankCounter> memoryCounters(const report::Simulated& result) {
    std::vector<perfetto::RankCounter> counters;
    for (int r = 0; result.memory && r < result.schedule.pp; ++r) {
        const auto& over_time = result.memory->over_time;
        counters.push_back(memoryCounter(Rank{r}, over_time.empty()
                                                      ? memoryCurve(result.step, Rank{r}, result.memory->model)
                                                      : over_time[Rank{r}.index()].curve));
    }
    return counters;
}

CommandResult simulateAlone(const SimulateArguments& options, const ScheduleRequest& request) {
    BUBBLESCOPE_ASSIGN(const std::optional<int> chunks, chunksOfTimes(options, request, {}));
    BUBBLESCOPE_ASSIGN(Planned planned, request.planShare(kUsualForward, chunks));
    BUBBLESCOPE_TRY(request.checkUsed({&planned.schedule, 1}));
    report::SweptRun alone;
    alone.costs = planned.costs;
    BUBBLESCOPE_ASSIGN(alone.run, simulateOne(options, planned.schedule, alone.costs));
    const report::Simulated& result = *alone.run;
    if (!options.out.empty()) {
        BUBBLESCOPE_TRY(
            writeStep(options.out, RunInfo::of("simulate", result.schedule), result.step, memoryCounters(result)));
    }
    BUBBLESCOPE_TRY(draw(options, {&alone, 1}));
    BUBBLESCOPE_TRY(writeTables(options, {&alone, 1}, {}));
    report::Document document = report::simulationDocument(result, options.ops && options.json);
    if (const std::string meaning = report::opMeaning(result.schedule, alone.costs); !meaning.empty())
        document.line(meaning);
    BUBBLESCOPE_TRY(addSlices(document, request, result.schedule));
    BUBBLESCOPE_TRY(addDispatch(document, options, planned.schedule, planned.costs));
    if (options.choices) {
        BUBBLESCOPE_ASSIGN(const QueueModel queues, options.queues.model(result.schedule));
        BUBBLESCOPE_ASSIGN(const auto choices, communicationChoices(result.schedule, alone.costs, options.lowering,
                                                                    queues, options.weights));
        report::addChoices(document, choices);
    }
    if (options.weight_choices) BUBBLESCOPE_TRY(addWeightChoices(options, result, alone.costs, document));
    if (options.json || !options.writesToStandardOutput()) print(document, options.json);
    if (!options.json) {
        if (options.ops)
            printText("\n" + report::toJson(report::simulatedOps(result.step), report::JsonLayout::OneLine) + "\n");
        if (!options.out.empty()) printText(fmt::format("\nTrace written to {}\n", options.out));
    }
    return 0;
}

/// Rejects options that have no effect if stages do not belong to ranks.
Status checkMoving(const SimulateArguments& options) {
    const MemoryRequest& memory = options.memory;
    const std::array unused{std::pair(!options.faults.empty(), "--inject"),
                            std::pair(options.steps > 1, "--steps"),
                            std::pair(options.dispatch.dynamic(), "--dispatch"),
                            std::pair(memory.hasModel(), "--memory-preset"),
                            std::pair(memory.budget.has_value(), "--memory-budget"),
                            std::pair(options.lowering.wanted(), "--lower"),
                            std::pair(options.queues.given(), "--communicators"),
                            std::pair(options.weights.host_copy > TimeNs{0}, "--host-copy"),
                            std::pair(options.weights.peer_copy > TimeNs{0}, "--peer-copy"),
                            std::pair(options.choices, "--communication-choices"),
                            std::pair(options.weight_choices, "--weight-choices"),
                            std::pair(!options.times_of.empty(), "--times-of"),
                            std::pair(!options.latex.empty(), "--latex"),
                            std::pair(!options.markdown.empty(), "--markdown"),
                            std::pair(!options.figure.empty(), "--figure")};
    return rejectGiven(unused, options.schedule.spec.name);
}

CommandResult run(const SimulateArguments& options) {
    ScheduleRequest request = options.schedule;
    request.transfers.eager_sends = options.queues.eager.has_value();
    options.lowering.chooseFlavor(request.spec);
    const std::vector<SweepAxis> axes = axesOf(options, request);
    if (movesStages(request)) {
        if (!axes.empty())
            return usageError(fmt::format("{} cannot be compared in a table", request.spec.name), "simulate it alone");
        BUBBLESCOPE_TRY(checkMoving(options));
        return simulateMovingStages(request, {.weights = options.weights,
                                              .nodes = options.nodes,
                                              .svg = options.svg,
                                              .csv = options.csv,
                                              .out = options.out,
                                              .ops = options.ops,
                                              .json = options.json});
    }
    if (options.nodes)
        return usageError(fmt::format("--nodes has no effect with {}", request.spec.name), "use tawpipe");
    return axes.empty() ? simulateAlone(options, request) : sweep(options, std::move(request), axes);
}

void addFaultOptions(Command command, SimulateArguments& options) {
    const std::string group = "Dispatch";
    command
        .addOption("--inject", options.faults,
                   "Change op times or latencies as in `run`: slow, op, jitter, link; may be repeated")
        .typeName("FAULT")
        .repeatable()
        .group(group)
        .rare();
    command.addOption("--steps", options.steps, "Also simulate this many steps with the faults, and average them (1)")
        .range(1, 100'000)
        .typeName("N")
        .group(group)
        .rare();
}

} // namespace

void addSimulateCommand(Command app, Action& action) {
    const Command command =
        app.addCommand("simulate", "Simulate and compare schedules with given op times: makespan, bubbles, memory");
    const auto options = std::make_shared<SimulateArguments>();
    command.examples({"simulate --schedule interleaved --pp 4 --microbatches 8 --vpp 2 --forward 5ms",
                      "simulate --schedule 1f1b,interleaved,zb-v --pp 8 --microbatches 8,16,32 --forward 4ms",
                      "simulate --schedule 1f1b --pp 4 --microbatches 8 --compare zb-h1,zb-v --svg both.svg"});
    addScheduleOptions(command, options->schedule, Listed::Always, &options->axes);
    addTimeOptions(command, options->schedule, Listed::Always, &options->axes);
    command
        .addOption("--times-of", options->times_of,
                   "Times are for one op (op), or for a rank's part of the model, divided among its v chunks (rank); "
                   "default: op, or rank if schedules or chunks are compared")
        .typeName("op|rank")
        .oneOf({"op", "rank"})
        .group("Times (with a unit: 5ms, 800us, 0.5s)");
    command.optionGroup("Output");
    command
        .addOption(
            "--compare", options->compare,
            "Also simulate these, with the same sizes and equal work: NAME, NAME/FLAVOR, /FLAVOR or a schedule file")
        .typeName("LIST")
        .delimiter(',');
    command
        .addOutput("--out", options->out, OutputKind::File,
                   "Write the timeline as a trace; the format follows the name: .pftrace, .json, .csv", traceEndings())
        .typeName("FILE");
    command.addFlag("--ops", options->ops, "List every op with its start and end");
    command.addFlag("--json", options->json, "Print a JSON document");
    const auto table = [&](const char* name, std::string& file, const char* about, const char* ending) {
        command.addOutput(name, file, OutputKind::File, about, {ending}).typeName("FILE").group("Tables and figures");
    };
    table("--csv", options->csv, "Write a row per schedule as CSV; - is standard output", ".csv");
    table("--latex", options->latex, "Write these rows as a LaTeX table", ".tex");
    table("--markdown", options->markdown, "Write these rows as a Markdown table", ".md");
    command
        .addOutput(
            "--figure", options->figure, OutputKind::File,
            "Plot bubble rate, makespan and memory against the first option that has several values (.svg or .pdf)",
            {".svg", ".pdf"})
        .typeName("FILE")
        .group("Tables and figures");
    options->svg.add(command);
    addLoweringOptions(command, options->lowering);
    addQueueOptions(command, options->queues);
    command
        .addFlag("--communication-choices", options->choices,
                 "List the settings for receives and communicators that cannot hang, and their costs")
        .group("Sends, receives and weights")
        .rare();
    command
        .addFlag("--weight-choices", options->weight_choices,
                 "List PyTorch's settings for active stages and lookahead, and which weights to gather earlier")
        .group("Sends, receives and weights")
        .rare();
    addWeightTimeOptions(command, options->weights);
    addNodesOption(command, options->nodes);
    addSimulationOptions(command, options->schedule, &options->axes);
    addMemoryOptions(command, options->memory);
    addDispatchOptions(command, options->dispatch);
    addFaultOptions(command, *options);
    command.onParsed([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
