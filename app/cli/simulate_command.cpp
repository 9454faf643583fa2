#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/table.h"
#include "core/bubble/analysis.h"
#include "core/io/perfetto/write_timeline.h"
#include "core/schedule/validate.h"
#include "core/simulate/simulate.h"

#include <fmt/format.h>

#include <memory>

namespace bubblescope::cli {
namespace {

struct Options {
    ScheduleOptions schedule;
    std::string out;
    bool ops = false;
    bool json = false;
};

Json positionsJson(const PerPosition<TimeNs>& values, bool f_then_b) {
    Json positions = Json::object();
    for (std::size_t i = 0; i < kPositionCount; ++i) {
        if (values[i].count() != 0)
            positions[std::string(positionName(static_cast<Position>(i), f_then_b))] = values[i].count();
    }
    return positions;
}

Json opsJson(const StepTimeline& step) {
    Json ops = Json::array();
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r]) {
            ops.push_back({std::string(1, opLetter(op.op.kind)), op.op.microbatch.value, op.op.chunk.value, r,
                           op.start.count(), op.end.count()});
        }
    }
    return ops;
}

Json toJson(const Schedule& schedule, const StepTimeline& step, const StepAnalysis& analysis, bool with_ops) {
    const bool f_then_b = schedule.name == "fthenb";
    const auto peaks = peakActivations(schedule);
    Json ranks = Json::array();
    for (const RankAccount& account : analysis.ranks) {
        ranks.push_back({{"rank", account.rank.value},
                         {"busy_ns", account.busy.count()},
                         {"bubble_ns", account.bubble.count()},
                         {"peak_activations", peaks[account.rank.index()]},
                         {"positions", positionsJson(account.observed, f_then_b)},
                         {"executed_positions", positionsJson(account.executed, f_then_b)}});
    }
    Json document = {{"makespan_ns", step.wall().count()},
                     {"bubble_rate", analysis.rates.over_makespan},
                     {"span_bubble_rate", analysis.rates.span},
                     {"over_ideal", analysis.rates.over_ideal},
                     {"ranks", ranks}};
    if (with_ops) document["ops"] = opsJson(step);
    return document;
}

std::string toText(const Schedule& schedule, const StepTimeline& step, const StepAnalysis& analysis) {
    std::string out =
        fmt::format("{}, p = {}, m = {}, v = {}: makespan {}, bubble rate {:.2f} % of the makespan\n"
                    "  ({:.2f} % on the longest span, {:.2f} % over the ideal)\n\n",
                    schedule.name, schedule.pp, schedule.microbatches, schedule.vpp, formatTime(step.wall()),
                    100 * analysis.rates.over_makespan, 100 * analysis.rates.span, 100 * analysis.rates.over_ideal);
    const auto peaks = peakActivations(schedule);
    Table table({{"rank"}, {"busy"}, {"bubble"}, {"closed form"}, {"peak activations"}});
    for (const RankAccount& account : analysis.ranks) {
        table.row({fmt::format("{}", account.rank.value), formatTime(account.busy), formatTime(account.bubble),
                   account.expected_bubble ? formatTime(*account.expected_bubble) : "none",
                   fmt::format("{}", peaks[account.rank.index()])});
    }
    return out + table.text();
}

RunInfo describe(const Schedule& schedule) {
    RunInfo info;
    info.source = "simulate";
    info.schedule = schedule.name;
    info.flavor = schedule.flavor;
    info.pp = schedule.pp;
    info.microbatches = schedule.microbatches;
    info.vpp = schedule.vpp;
    info.placement = schedule.placement;
    return info;
}

CommandResult run(const Options& options) {
    BUBBLESCOPE_ASSIGN(const CostModel costs, options.schedule.costs(TimeNs{1'000'000}));
    BUBBLESCOPE_ASSIGN(const Schedule schedule, options.schedule.schedule(costs));
    BUBBLESCOPE_ASSIGN(const StepTimeline step, simulate(schedule, costs));
    StepAnalysis analysis = analyzeStep(step, schedule);
    // With --comm no closed form by position holds; what analyzeStep finds is that of free transfers.
    if (costs.comm.count() != 0) {
        for (RankAccount& account : analysis.ranks)
            account.expected_bubble.reset();
    }
    if (!options.out.empty()) {
        BUBBLESCOPE_TRY(perfetto::writeTimeline(options.out, describe(schedule), {&step, 1}));
    }
    if (options.json) {
        printJson(toJson(schedule, step, analysis, options.ops));
    } else {
        printText(toText(schedule, step, analysis));
        if (options.ops) printText("\n" + opsJson(step).dump() + "\n");
        if (!options.out.empty()) printText(fmt::format("\nTrace written to {}\n", options.out));
    }
    return 0;
}

} // namespace

void addSimulateCommand(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("simulate", "Run a schedule on op times: makespan, bubbles, memory");
    const auto options = std::make_shared<Options>();
    options->schedule.addSchedule(*command);
    options->schedule.addTimes(*command);
    command->add_option("--out", options->out, "Write the timeline as a trace file")->type_name("FILE");
    command->add_flag("--ops", options->ops, "List every op with its start and end");
    command->add_flag("--json", options->json, "As a JSON document");
    command->callback([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
