#include "app/cli/command.h"
#include "app/cli/comparison_table.h"
#include "app/cli/memory_options.h"
#include "app/cli/output.h"
#include "app/cli/schedule_options.h"
#include "app/cli/svg_options.h"
#include "core/base/bytes.h"
#include "core/formats/perfetto/writer.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/report/json.h"
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

report::Value positionsOf(const PerPosition<TimeNs>& values, bool f_then_b) {
    report::Value::Object positions;
    for (std::size_t i = 0; i < kPositionCount; ++i) {
        if (values[i].count() != 0)
            positions.push_back({std::string(positionName(static_cast<Position>(i), f_then_b)), values[i]});
    }
    return positions;
}

report::Value opsOf(const StepTimeline& step) {
    report::Value::List ops;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r]) {
            report::Value::List entry{
                std::string(1, opLetter(op.op.kind)), op.op.microbatch, op.op.chunk, r, op.start, op.end};
            if (op.op.sequence > 0) entry.emplace_back(op.op.sequence);
            ops.emplace_back(std::move(entry));
        }
    }
    return ops;
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

report::Table ranksTable(const Simulated& run) {
    using report::column;
    using report::data;
    report::Table table("ranks", {column("rank", "rank"), column("busy_ns", "busy"), column("bubble_ns", "bubble"),
                                  report::shown("closed form"), column("peak_activations", "peak activations"),
                                  data("positions"), data("executed_positions"),
                                  column("memory", run.memory ? "memory, peak" : "")});
    const bool f_then_b = run.schedule.name == "fthenb";
    const auto peaks = peakActivations(run.schedule);
    for (const RankAccount& account : run.analysis.ranks) {
        report::Cell memory = report::absent();
        if (run.memory) {
            memory = report::Cell(memoryOf(run.schedule, *run.memory, account.rank))
                         .as(formatBytes(run.memory->ranks[account.rank.index()].peak()));
        }
        table.row(account.rank, account.busy, account.bubble, run.form ? formText(*run.form, account.rank) : "none",
                  peaks[account.rank.index()], positionsOf(account.observed, f_then_b),
                  positionsOf(account.executed, f_then_b), std::move(memory));
    }
    return table;
}

report::Document toDocument(const Simulated& run, bool with_ops) {
    const BubbleRates& rates = run.analysis.rates;
    report::Document document;
    document.line(fmt::format("{}: makespan {}, bubble rate {:.2f} % of the makespan\n"
                              "  ({:.2f} % on the longest span, {:.2f} % over the ideal)\n",
                              scheduleTitle(run.schedule), formatTime(run.step.wall()), 100 * rates.over_makespan,
                              100 * rates.span, 100 * rates.over_ideal));
    addCompared(document, run.compared());
    document.add(ranksTable(run));
    if (run.memory) addBudgetLines(document, run.schedule, *run.memory);
    if (with_ops) document.data("ops", opsOf(run.step));
    return document;
}

report::Document comparisonDocument(const std::vector<Simulated>& runs) {
    std::vector<Compared> rows;
    for (const Simulated& run : runs) {
        rows.push_back(run.compared());
        rows.back().further.emplace_back(std::ranges::max(peakActivations(run.schedule)));
    }
    report::Document document;
    document.add(comparisonTable(std::move(rows), {"peak activations"}));
    for (const Simulated& run : runs) {
        const std::string chart = textChart(run.step);
        document.line(fmt::format("\n{}\n{}", orderName(run.schedule),
                                  chart.empty() ? "too wide for a chart to scale"
                                                : chart.substr(0, chart.size() - 1))); // a line ends by itself
    }
    return document;
}

report::Document comparisonData(const std::vector<Simulated>& runs, bool with_ops) {
    report::Document document;
    report::Sections schedules;
    schedules.key = "schedules";
    for (const Simulated& run : runs)
        schedules.list.push_back(toDocument(run, with_ops));
    document.add(std::move(schedules));
    return document;
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
    print(options.json ? comparisonData(runs, options.ops) : comparisonDocument(runs), options.json);
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
    print(toDocument(result, options.ops && options.json), options.json);
    if (!options.json) {
        if (options.ops) printText("\n" + report::toJson(opsOf(result.step), report::JsonLayout::OneLine) + "\n");
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
