#include "app/cli/moving_stages.h"

#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "app/cli/recorded_run.h"
#include "app/cli/trace_output.h"
#include "core/base/field.h"
#include "core/base/suggestion.h"
#include "core/formats/source/replacing_file.h"
#include "core/formats/source/standard_output.h"
#include "core/graph/moving_stages.h"
#include "core/graph/moving_weights.h"
#include "core/graph/validate.h"
#include "core/report/document.h"
#include "core/report/json.h"
#include "core/report/results/simulation.h"
#include "core/report/table_formats.h"
#include "core/schedule/moving_names.h"
#include "core/schedule/schedule.h"
#include "core/timeline/bubbles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bubblescope::cli {
namespace {

std::optional<WeightPath> weightPathOf(const ScheduleRequest& request) {
    return weightPathNamed(request.spec.name);
}

/// Rejects options that only other schedules use. Errors: Usage.
Status rejectUnused(const ScheduleRequest& request) {
    const ScheduleSpec& spec = request.spec;
    const bool halves = request.input_grad || request.weight_grad;
    const bool of_whole = request.input_grad && request.weight_grad && !request.backward;
    const bool splits = weightPathOf(request) == WeightPath::RingSplit;
    const std::array unused{
        std::pair(!spec.flavor.empty(), "--flavor"),
        std::pair(spec.group_size > 0, "--group-size"),
        std::pair(spec.memory_limit > 0, "--memory-limit"),
        std::pair(spec.sequence_slices > 1, "--sequence-slices"),
        std::pair(spec.encoders.ranks() > 0, "--encoders"),
        std::pair(spec.loss > TimeNs{0}, "--loss"),
        std::pair(!request.activation_sizes.empty(), "--activation-sizes"),
        std::pair(request.overlapped.has_value(), "--overlapped"),
        std::pair(request.all_reduce.has_value(), "--all-reduce"),
        std::pair(!request.slice_cut.empty(), "--slices"),
        std::pair(!request.op_times.empty(), "--op-times"),
        std::pair(halves && !of_whole && !splits, request.input_grad ? "--input-grad" : "--weight-grad")};
    return rejectGiven(unused, spec.name);
}

/// `peaks` are activations per rank, or empty if an activation is not freed on the rank that stored it.
report::Table rankTable(const StepTimeline& step, const std::vector<int>& peaks) {
    using report::column;
    std::vector<report::Column> columns{column("rank", "rank"), column("busy_ns", "busy"),
                                        column("bubble_ns", "bubble"), column("inside_ns", "of it between ops")};
    if (!peaks.empty()) columns.push_back(column("peak_activations", "peak activations"));
    report::Table table("ranks", std::move(columns));
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        const auto& ops = step.ranks[r];
        TimeNs busy{0};
        for (const TimelineOp& op : ops)
            busy += op.duration();
        const TimeNs inside = ops.empty() ? TimeNs{0} : ops.back().end - ops.front().start - busy;
        if (peaks.empty())
            table.row(r, busy, step.wall() - busy, inside);
        else
            table.row(r, busy, step.wall() - busy, inside, peaks[r]);
    }
    return table;
}

/// Writes the files that were asked for, and prints the document with the table of ranks.
CommandResult finish(const MovingOptions& options, const report::Drawn& drawn, const report::Document& summary,
                     const std::vector<int>& peaks) {
    BUBBLESCOPE_TRY(options.svg.write({&drawn, 1}));
    report::Document document = summary;
    const report::Table table = rankTable(drawn.step, peaks);
    if (!options.csv.empty()) {
        ReplacingFile file(options.csv);
        file.write(report::toCsv(table));
        BUBBLESCOPE_TRY(file.commit());
    }
    if (!options.out.empty())
        BUBBLESCOPE_TRY(writeStep(options.out, RunInfo::of("simulate", drawn.schedule), drawn.step, {}));
    document.add(table);
    if (options.ops && options.json) document.data("ops", report::simulatedOps(drawn.step));
    if (options.json || options.csv != kStandardOutput) print(document, options.json);
    if (options.ops && !options.json)
        printText("\n" + report::toJson(report::simulatedOps(drawn.step), report::JsonLayout::OneLine) + "\n");
    if (!options.json && !options.out.empty()) printText(fmt::format("\nTrace written to {}\n", options.out));
    return 0;
}

void describe(report::Document& document, const Schedule& order, const StepTimeline& step,
              const Result<TimeNs>& closed_form, const std::string& rest) {
    document.line(fmt::format("{}, p = {}, m = {}: makespan {}, bubble rate {:.2f} % of the makespan\n{}\n", order.name,
                              order.pp, order.microbatches, formatTime(step.wall()),
                              100 * bubbleRates(step).over_makespan, rest));
    document.data("schedule", order.name);
    document.data("makespan_ns", step.wall());
    document.data("bubble_rate", bubbleRates(step).over_makespan);
    document.data("closed_form_ns",
                  closed_form.ok() ? report::Value(closed_form.value()) : report::Value(report::Value::Absent{}));
}

bool isRoundPipe(const ScheduleRequest& request) {
    return plainName(request.spec.name) == plainName(kRoundPipe);
}

/// The positions of roundpipe. Errors: Usage, for options without effect.
Result<MovingStages> roundStages(const ScheduleRequest& request, const CostModel& costs, const WeightTimes& weights,
                                 const std::optional<int>& nodes) {
    if (!costs.stages.empty() || !costs.plainTransfers())
        return usageError("roundpipe needs equal stages and equal latencies", "use only --comm");
    if (nodes) return usageError("--nodes has no effect with roundpipe", "use tawpipe");
    if (weights.reduce_grad > TimeNs{0})
        return usageError("--reduce-grad has no effect with roundpipe, which sends no weight gradients", "omit it");
    const int stages = request.spec.pp * request.vpp.value_or(1);
    return MovingStages{request.spec.pp, request.spec.microbatches, stages, stages};
}

MovingTimes timesOf(const CostModel& costs, TimeNs weights) {
    return {costs.times.forward, costs.times.backward, costs.comm, weights};
}

Result<TimeNs> makespanOf(const Result<MovingForm>& form) {
    return form.ok() ? Result<TimeNs>(form.value().makespan) : Result<TimeNs>(form.error());
}

CommandResult simulateRoundPipe(const ScheduleRequest& request, const CostModel& costs, const MovingOptions& options) {
    BUBBLESCOPE_ASSIGN(const MovingStages stages, roundStages(request, costs, options.weights, options.nodes));
    const MovingTimes times = timesOf(costs, options.weights.unshard);
    BUBBLESCOPE_ASSIGN(const Schedule order, movingOrder(stages));
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulateMoving(stages, times));
    const Result<MovingForm> form = movingForm(stages, times);
    report::Document document;
    describe(document, order, step, makespanOf(form),
             fmt::format("{} forward and {} backward stages rotate over the ranks; {}", stages.forward_stages,
                         stages.backward_stages,
                         form.ok()
                             ? fmt::format("closed form: makespan {}, {} idle between visits",
                                           formatTime(form.value().makespan), formatTime(form.value().between_visits))
                             : form.error().message));
    return finish(options, {order, step, costs, {}}, document, {});
}

/// Compares a step's messages with the 2·m activations and gradients that a rank of 1F1B sends to its neighbours. The
/// weights of l transformer layers are 12·l·h² values, an activation is one micro-batch's tokens times h.
void addTraffic(report::Document& document, const MovingWeights& moving, const MovingWeightsStep& result) {
    const WeightTraffic& traffic = result.traffic;
    const std::int64_t activations = 2 * std::int64_t{moving.microbatches};
    const double break_even = 12.0 * static_cast<double>(traffic.messages()) / static_cast<double>(activations);
    const bool nodes = moving.path == WeightPath::Nodes;
    document.line(fmt::format("Per step, a {} sends up to {} weights and {} weight gradients of a stage{}",
                              nodes ? "node" : "rank", traffic.weights, traffic.gradients,
                              nodes ? " to other nodes" : ""));
    document.line(
        fmt::format("In 1F1B, a rank sends up to {} activations and gradients of a micro-batch", activations));
    if (traffic.broadcasts > 0)
        document.line(fmt::format("Within a node: {} weight broadcasts, {} gradient reductions", traffic.broadcasts,
                                  traffic.reductions));
    if (traffic.messages() > 0)
        document.line(
            fmt::format("Fewer bytes than 1F1B if micro-batches have more than {:.3g}·l·h tokens (l layers per "
                        "stage, hidden size h)",
                        break_even));
    document.line(fmt::format("Weight gradients are complete {} after the last op\n",
                              formatTime(result.gradients_home - result.step.end)));
    document.data("rounds", moving.rounds());
    document.data("weight_messages", traffic.weights);
    document.data("gradient_messages", traffic.gradients);
    document.data("node_broadcasts", traffic.broadcasts);
    document.data("node_reductions", traffic.reductions);
    document.data("activation_messages_1f1b", activations);
    document.data("break_even_tokens", break_even);
    document.data("gradients_complete_ns", result.gradients_home);
}

Status checkMessageTimes(WeightPath path, const CostModel& costs, const std::optional<int>& nodes) {
    const std::string_view name = weightPathName(path);
    if (!costs.plainTransfers())
        return usageError(fmt::format("{} sends no activations", name),
                          "specify message times with --unshard and --reduce-grad");
    if (path == WeightPath::Nodes) {
        if (costs.comm > TimeNs{0} && nodes.value_or(1) == 1)
            return usageError("--comm has no effect with tawpipe on one node", "add --nodes");
        return {};
    }
    if (nodes) return usageError(fmt::format("--nodes has no effect with {}", name), "use tawpipe");
    if (costs.comm > TimeNs{0})
        return usageError(fmt::format("--comm has no effect with {}, which sends no activations", name),
                          "use --unshard for weights and --reduce-grad for their gradients");
    return {};
}

Status checkOneStage(const ScheduleRequest& request, WeightPath path) {
    if (request.vpp.value_or(1) == 1) return {};
    return usageError(fmt::format("{} has one stage per rank", weightPathName(path)),
                      fmt::format("remove {}", Field("vpp")));
}

MovingWeightTimes timesOf(const MovingWeights& moving, const CostModel& costs, const WeightTimes& weights) {
    MovingWeightTimes times{{}, {}, weights.unshard, weights.reduce_grad, costs.comm};
    for (int stage = 0; stage < moving.pp; ++stage) {
        times.forward.push_back(costs.opTime(OpKind::Forward, Stage{stage}));
        times.backward.push_back(costs.opTime(OpKind::Backward, Stage{stage}));
        times.weight_grad.push_back(costs.opTime(OpKind::BackwardWeight, Stage{stage}));
    }
    return times;
}

CommandResult simulateWeights(const ScheduleRequest& request, const CostModel& costs, WeightPath path,
                              const MovingOptions& options) {
    BUBBLESCOPE_TRY(checkOneStage(request, path));
    BUBBLESCOPE_TRY(checkMessageTimes(path, costs, options.nodes));
    const MovingWeights moving{path, request.spec.pp, request.spec.microbatches, options.nodes.value_or(1)};
    BUBBLESCOPE_ASSIGN(const Schedule order, movingWeightsOrder(moving));
    const MovingWeightTimes times = timesOf(moving, costs, options.weights);
    BUBBLESCOPE_ASSIGN(const MovingWeightsStep result, simulateMovingWeights(moving, times));
    const Result<TimeNs> form = movingWeightsForm(moving, times);
    report::Document document;
    describe(document, order, result.step, form,
             form.ok() ? fmt::format("closed form: makespan {}", formatTime(form.value())) : form.error().message);
    addTraffic(document, moving, result);
    return finish(options, {order, result.step, costs, result.messages}, document, peakActivations(order));
}

/// Theory of a run.
struct Expectation {
    TimeNs makespan{0}; ///< simulated
    Result<TimeNs> form;
};

Result<Expectation> expect(const runtime::RunConfig& config) {
    if (config.round) {
        const MovingTimes times = timesOf(config.times, config.round->weights);
        BUBBLESCOPE_ASSIGN(const StepTimeline step, simulateMoving(config.round->moving, times));
        return Expectation{step.wall(), makespanOf(movingForm(config.round->moving, times))};
    }
    const MovingWeights& moving = config.weights->moving;
    WeightTimes weights;
    weights.unshard = config.weights->weights;
    weights.reduce_grad = config.weights->gradients;
    const MovingWeightTimes times = timesOf(moving, config.times, weights);
    BUBBLESCOPE_ASSIGN(const MovingWeightsStep simulated, simulateMovingWeights(moving, times));
    return Expectation{simulated.step.wall(), movingWeightsForm(moving, times)};
}

} // namespace

Status rejectGiven(std::span<const std::pair<bool, const char*>> options, std::string_view schedule) {
    const auto given = std::ranges::find(options, true, &std::pair<bool, const char*>::first);
    if (given == options.end()) return {};
    return usageError(fmt::format("{} has no effect with {}", given->second, schedule),
                      fmt::format("omit {}", given->second));
}

bool movesStages(const ScheduleRequest& request) {
    return isRoundPipe(request) || weightPathOf(request);
}

Status planMovingRun(const ScheduleRequest& request, const WeightTimes& weights, std::optional<int> nodes,
                     runtime::RunConfig& config) {
    BUBBLESCOPE_TRY(rejectUnused(request));
    if (const std::optional<WeightPath> path = weightPathOf(request)) {
        BUBBLESCOPE_TRY(checkOneStage(request, *path));
        BUBBLESCOPE_TRY(checkMessageTimes(*path, config.times, nodes));
        const MovingWeights moving{*path, request.spec.pp, request.spec.microbatches, nodes.value_or(1)};
        BUBBLESCOPE_ASSIGN(config.schedule, movingWeightsOrder(moving));
        config.weights = {moving, weights.unshard, weights.reduce_grad, config.times.comm};
    } else {
        BUBBLESCOPE_ASSIGN(const MovingStages moving, roundStages(request, config.times, weights, nodes));
        BUBBLESCOPE_ASSIGN(config.schedule, movingOrder(moving));
        config.round = {moving, weights.unshard};
    }
    config.schedule.vpp = request.vpp.value_or(1); // the number of stages is that of a pipeline
    config.schedule.placement = Placement::Loop;
    return {};
}

CommandResult runMoving(const runtime::RunConfig& config, const SvgOptions& svg, bool json) {
    JobControl control;
    BUBBLESCOPE_ASSIGN(const runtime::RunSummary ran, watchWork(control, "Running", WorkUnit::Ops,
                                                                [&] { return runtime::runPipeline(config, control); }));
    BUBBLESCOPE_ASSIGN(const Expectation expected, expect(config));
    report::Document document;
    if (!json) addTraining(document, ran);
    const std::vector<TimeNs>& walls = ran.moving->walls;
    const auto [shortest, longest] = std::ranges::minmax(walls);
    Schedule order = config.schedule;
    order.vpp = order.stages(); // its chunks are stage numbers
    order.placement = Placement::Moving;
    describe(document, order, ran.moving->last, expected.form,
             fmt::format("last of {} steps, which took {} to {}; simulation: {}", walls.size(), formatTime(shortest),
                         formatTime(longest), formatTime(expected.makespan)));
    document.data("step_makespans_ns", report::Value::List(walls.begin(), walls.end()));
    document.data("simulated_makespan_ns", expected.makespan);
    if (json) document.add(trainingData(ran));
    const MovingOptions options{
        .weights = {}, .nodes = {}, .svg = svg, .csv = {}, .out = {}, .ops = false, .json = json};
    BUBBLESCOPE_ASSIGN(const int code, finish(options, {order, ran.moving->last, config.times, {}}, document,
                                              config.weights ? peakActivations(order) : std::vector<int>()));
    if (!json && !config.out_dir.empty()) printText(fmt::format("\nTrace written to {}\n", config.out_dir.string()));
    return code;
}

CommandResult simulateMovingStages(const ScheduleRequest& request, const MovingOptions& options) {
    constexpr TimeNs kForwardByDefault{1'000'000};
    BUBBLESCOPE_TRY(rejectUnused(request));
    BUBBLESCOPE_ASSIGN(CostModel costs, request.costs(kForwardByDefault));
    BUBBLESCOPE_ASSIGN(costs.transfers, request.transfers.model(request.spec.pp, costs.comm > TimeNs{0}));
    if (const std::optional<WeightPath> path = weightPathOf(request))
        return simulateWeights(request, costs, *path, options);
    return simulateRoundPipe(request, costs, options);
}

} // namespace bubblescope::cli
