#include "app/cli/command.h"
#include "app/cli/comparison_table.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/svg_options.h"
#include "app/cli/table.h"
#include "core/base/bytes.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/theory/analysis.h"
#include "core/timeline/text_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

namespace bubblescope::cli {
namespace {

struct SimulateArguments {
    ScheduleOptions schedule;
    SvgOptions svg;
    MemoryOptions memory;
    std::string out;
    std::vector<std::string> compare;
    bool ops = false;
    bool json = false;
};

/// A schedule's run, and what theory says of it where it says anything.
struct Simulated {
    Schedule schedule;
    StepTimeline step;
    StepAnalysis analysis;
    std::optional<ClosedForm> form; ///< exact or a bound
    std::optional<MemoryReport> memory;

    [[nodiscard]] Compared compared() const { return {schedule, step.wall(), analysis.rates, {}}; }
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
            Json entry = {std::string(1, opLetter(op.op.kind)),
                          op.op.microbatch.value,
                          op.op.chunk.value,
                          r,
                          op.start.count(),
                          op.end.count()};
            if (op.op.sequence > 0) entry.push_back(op.op.sequence);
            ops.push_back(std::move(entry));
        }
    }
    return ops;
}

Json toJson(const Simulated& run, bool with_ops) {
    const bool f_then_b = run.schedule.name == "fthenb";
    const auto peaks = peakActivations(run.schedule);
    Json ranks = Json::array();
    for (const RankAccount& account : run.analysis.ranks) {
        ranks.push_back({{"rank", account.rank.value},
                         {"busy_ns", account.busy.count()},
                         {"bubble_ns", account.bubble.count()},
                         {"peak_activations", peaks[account.rank.index()]},
                         {"positions", positionsJson(account.observed, f_then_b)},
                         {"executed_positions", positionsJson(account.executed, f_then_b)}});
        if (run.memory) ranks.back()["memory"] = memoryJson(run.schedule, *run.memory, account.rank);
    }
    Json document = comparedJson(run.compared());
    document["ranks"] = ranks;
    if (with_ops) document["ops"] = opsJson(run.step);
    return document;
}

/// A bound must not read like an expectation.
std::string formText(const ClosedForm& form, Rank rank) {
    const std::string value = formatTime(form.bubble[rank.index()]);
    switch (form.kind) {
    case FormKind::Exact: return value;
    case FormKind::LowerBound: return "at least " + value;
    case FormKind::UpperBound: return "at most " + value;
    }
    return value;
}

std::string toText(const Simulated& run) {
    const BubbleRates& rates = run.analysis.rates;
    std::string out = fmt::format("{}: makespan {}, bubble rate {:.2f} % of the makespan\n"
                                  "  ({:.2f} % on the longest span, {:.2f} % over the ideal)\n\n",
                                  scheduleTitle(run.schedule), formatTime(run.step.wall()), 100 * rates.over_makespan,
                                  100 * rates.span, 100 * rates.over_ideal);
    const auto peaks = peakActivations(run.schedule);
    Table table(
        {{"rank"}, {"busy"}, {"bubble"}, {"closed form"}, {"peak activations"}, {run.memory ? "memory, peak" : ""}});
    for (const RankAccount& account : run.analysis.ranks) {
        table.row({fmt::format("{}", account.rank.value), formatTime(account.busy), formatTime(account.bubble),
                   run.form ? formText(*run.form, account.rank) : "none",
                   fmt::format("{}", peaks[account.rank.index()]),
                   run.memory ? formatBytes(run.memory->ranks[account.rank.index()].peak()) : ""});
    }
    const std::string budget = run.memory ? budgetText(run.schedule, *run.memory) : "";
    return out + table.text() + (budget.empty() ? "" : "\n" + budget);
}

std::string comparisonText(const std::vector<Simulated>& runs) {
    std::vector<Compared> rows;
    std::string charts;
    for (const Simulated& run : runs) {
        rows.push_back(run.compared());
        rows.back().further = {fmt::format("{}", std::ranges::max(peakActivations(run.schedule)))};
        const std::string chart = textChart(run.step);
        charts +=
            fmt::format("\n{}\n{}", orderName(run.schedule), chart.empty() ? "too wide for a chart to scale\n" : chart);
    }
    return comparisonTable(rows, {{"peak activations"}}) + charts;
}

Result<Simulated> execute(Schedule schedule, const CostModel& costs, const MemoryOptions& memory) {
    Simulated run;
    run.schedule = std::move(schedule);
    BUBBLESCOPE_ASSIGN(run.step, simulate(run.schedule, costs));
    BUBBLESCOPE_ASSIGN(run.memory, memory.report(run.schedule));
    run.analysis = analyzeStep(run.step, run.schedule);
    if (auto form = closedForm(run.schedule, costs); form.ok()) run.form = std::move(form).value();
    return run;
}

Status draw(const SimulateArguments& options, std::span<const Simulated> runs, const CostModel& costs) {
    std::vector<Drawn> drawn;
    for (const Simulated& run : runs)
        drawn.push_back({run.schedule, run.step, costs});
    return options.svg.write(drawn);
}

CommandResult compare(const SimulateArguments& options, Simulated first, const CostModel& costs) {
    std::vector<Simulated> runs{std::move(first)};
    for (const std::string& name : options.compare) {
        BUBBLESCOPE_ASSIGN(Schedule schedule, options.schedule.sibling(name, costs));
        BUBBLESCOPE_ASSIGN(Simulated other, execute(std::move(schedule), costs, options.memory));
        runs.push_back(std::move(other));
    }
    BUBBLESCOPE_TRY(draw(options, runs, costs));
    if (!options.json) {
        printText(comparisonText(runs));
        return 0;
    }
    Json documents = Json::array();
    for (const Simulated& one : runs)
        documents.push_back(toJson(one, options.ops));
    printJson({{"schedules", documents}});
    return 0;
}

CommandResult run(const SimulateArguments& options) {
    BUBBLESCOPE_ASSIGN(Planned planned, options.schedule.plan(TimeNs{1'000'000}));
    const CostModel& costs = planned.costs;
    BUBBLESCOPE_ASSIGN(Simulated result, execute(std::move(planned.schedule), costs, options.memory));
    if (!options.out.empty()) {
        BUBBLESCOPE_TRY(
            perfetto::writeTimeline(options.out, RunInfo::of("simulate", result.schedule), {&result.step, 1}));
    }
    if (!options.compare.empty()) return compare(options, std::move(result), costs);
    BUBBLESCOPE_TRY(draw(options, {&result, 1}, costs));
    if (options.json) {
        printJson(toJson(result, options.ops));
    } else {
        printText(toText(result));
        if (options.ops) printText("\n" + opsJson(result.step).dump() + "\n");
        if (!options.out.empty()) printText(fmt::format("\nTrace written to {}\n", options.out));
    }
    return 0;
}

} // namespace

void addSimulateCommand(Command app, Action& action) {
    const Command command = app.addCommand("simulate", "Run a schedule on op times: makespan, bubbles, memory");
    const auto options = std::make_shared<SimulateArguments>();
    options->schedule.addSchedule(command);
    options->schedule.addTimes(command);
    options->schedule.addTransfers(command);
    options->memory.add(command);
    command
        .addOption("--compare", options->compare,
                   "Also run these, at the same sizes: NAME, NAME/FLAVOR or /FLAVOR; shows tables and timelines")
        .typeName("LIST")
        .delimiter(',');
    options->svg.add(command);
    command.addOption("--out", options->out, "Write the timeline as a trace file").typeName("FILE");
    command.addFlag("--ops", options->ops, "List every op with its start and end");
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return run(*options); }; });
}

} // namespace bubblescope::cli
