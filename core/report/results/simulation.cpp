#include "core/report/results/simulation.h"

#include "core/base/bytes.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/report/results/memory.h"
#include "core/schedule/weight_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace bubblescope::report {
namespace {

Value simulatedPositions(const PerPosition<TimeNs>& values, bool f_then_b) {
    Value::Object positions;
    for (std::size_t i = 0; i < kPositionCount; ++i) {
        if (values[i].count() != 0)
            positions.push_back({std::string(positionName(static_cast<Position>(i), f_then_b)), values[i]});
    }
    return positions;
}

/// A bound must not read like an expectation.
std::string formWords(const ClosedForm& form, Rank rank) {
    const std::string value = formatTime(form.bubble[rank.index()]);
    switch (form.kind) {
    case FormKind::Exact: return value;
    case FormKind::LowerBound: return "at least " + value;
    case FormKind::UpperBound: return "at most " + value;
    }
    return value;
}

/// The activations that each rank holds at most if some are moved; a started half counts as one.
std::vector<int> heldAtMost(const LoweredSchedule& lowered, const LoweredStep& step) {
    StageMemory stage;
    stage.activations = {2, 1, 1};
    const MemoryModel halves{std::vector<StageMemory>(static_cast<std::size_t>(lowered.order.stages()), stage), {}, 0};
    std::vector<int> held;
    for (const LoweredMemory& rank : loweredMemory(lowered, step, halves))
        held.push_back(static_cast<int>((rank.peak + 1) / 2));
    return held;
}

Table simulatedRanks(const Simulated& run) {
    Table table("ranks", {column("rank", "rank"), column("busy_ns", "busy"), column("bubble_ns", "bubble"),
                          shown("closed form"), column("peak_activations", "peak activations"), data("positions"),
                          data("executed_positions"), column("memory", run.memory ? "memory, peak" : "")});
    const bool f_then_b = run.schedule.name == "fthenb";
    for (const RankAccount& account : run.analysis.ranks) {
        Cell memory = absent();
        if (run.memory) {
            memory = Cell(memoryOf(run.schedule, *run.memory, account.rank))
                         .as(formatBytes(run.memory->ranks[account.rank.index()].peak()));
        }
        table.row(account.rank, account.busy, account.bubble, run.form ? formWords(*run.form, account.rank) : "none",
                  run.peak_activations[account.rank.index()], simulatedPositions(account.observed, f_then_b),
                  simulatedPositions(account.executed, f_then_b), std::move(memory));
    }
    return table;
}

void addQueues(Document& document, const Simulated& run) {
    constexpr std::size_t kListed = 20;
    const QueueCosts& queues = *run.queues;
    const TimeNs cost = run.step.wall() - queues.makespan_without;
    if (!queues.times.communicators.empty()) {
        document.line(fmt::format("communicators '{}': queues cost {}; {} transfers waited for others",
                                  queues.communicators, formatTime(cost), queues.times.queued.size()));
    }
    Table queued("head_of_line",
                 {column("send", "send"), column("receive", "receive"), column("from", "from"), column("to", "to"),
                  column("communicator", "communicator"), column("wait_ns", "waited"), column("behind", "behind"),
                  column("behind_rank", "on rank")});
    queued.most_in_text = 5;
    if (queues.times.queued.empty()) queued.reader = Reader::Programs;
    for (const QueuedTransfer& each :
         std::span(queues.times.queued).first(std::min(kListed, queues.times.queued.size()))) {
        queued.row(each.send, each.receive, each.from, each.to, each.communicator, each.wait(), each.behind,
                   each.behind_rank);
    }
    Value::List communicators;
    for (const QueueTimes::Sum& sum : queues.times.communicators) {
        communicators.push_back(
            Value::Object{{"name", sum.name}, {"transfers", sum.transfers}, {"head_of_line_ns", sum.wait}});
    }
    document.data("queues", Value::Object{{"communicators", queues.communicators},
                                          {"makespan_without_ns", queues.makespan_without},
                                          {"queued_transfers", queues.times.queued.size()},
                                          {"head_of_line_ns", queues.times.ranks},
                                          {"of_communicators", std::move(communicators)}});
    document.add(std::move(queued));
}

/// The part of a rank's timeline between two updates in the middle of the step.
struct SteadyUpdate {
    TimeNs length{0};
    TimeNs idle{0};
};

std::optional<SteadyUpdate> steadyUpdate(std::span<const TimelineOp> ops) {
    std::vector<std::size_t> updates;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].op.kind == OpKind::Optimizer) updates.push_back(i);
    }
    if (updates.size() < 2) return std::nullopt;
    const std::size_t middle = (updates.size() - 1) / 2;
    const std::size_t last = updates[middle + 1];
    SteadyUpdate steady{ops[last].end - ops[updates[middle]].end, {}};
    steady.idle = steady.length;
    for (std::size_t i = updates[middle] + 1; i <= last; ++i)
        steady.idle -= ops[i].duration();
    return steady;
}

/// For an order that updates weights within the step.
void addVersions(Document& document, const Simulated& run) {
    if (updatesWithin(run.schedule.ranks.front()) == 0) return;
    const Result<WeightVersions> known = weightVersions(run.schedule);
    if (!known.ok()) return;
    const WeightVersions& versions = known.value();
    const int group = run.schedule.microbatches / versions.updates;
    Table table("weight_versions",
                {column("rank", "rank"), column("held", "weight versions"), column("delay", "delay in updates"),
                 column("update_ns", "update takes"), column("update_idle_ns", "of it idle")});
    for (std::size_t r = 0; r < run.schedule.ranks.size(); ++r) {
        int delay = 0;
        for (int c = 0; c < run.schedule.vpp; ++c)
            delay = std::max(delay, versions.delay(run.schedule.stageOf(Rank{r}, Chunk{c})));
        const std::optional<SteadyUpdate> steady = steadyUpdate(run.step.ranks[r]);
        table.row(r, versions.held[r], delay, steady ? Cell(steady->length) : absent(),
                  steady ? Cell(steady->idle) : absent());
    }
    document.line(fmt::format("\n{} weight updates without a flush, each after {} micro-batches. Gradients are "
                              "computed from older weights, so more tokens may be needed for the same loss.\n",
                              versions.updates, group));
    document.add(std::move(table));
}

} // namespace

namespace {

std::string receivesOf(const CommunicationChoice& choice) {
    if (choice.receives_ahead) return fmt::format("{} ahead", *choice.receives_ahead);
    return choice.deferred_receives ? "deferred" : "early";
}

} // namespace

void addChoices(Document& document, const std::vector<CommunicationChoice>& choices) {
    Table table("communication_choices",
                {column("receives", "receives", Align::Left), column("communicators", "communicators", Align::Left),
                 column("count", "count"), column("can_hang", "can hang"), data("pairs_wrongly"),
                 column("makespan_ns", "makespan"), data("rules")});
    for (const CommunicationChoice& each : choices) {
        Value::List rules;
        for (const CommunicatorRule& rule : each.rules)
            rules.push_back(Value::Object{{"name", rule.name}, {"from", rule.from}, {"to", rule.to}});
        table.row(receivesOf(each), communicatorKindName(each.kind), each.communicators,
                  Cell(each.can_hang).as(each.can_hang ? "yes" : "no"), each.pairs_wrongly, orNone(each.makespan),
                  each.rules.empty() ? absent() : Cell(std::move(rules)));
    }
    document.add(std::move(table));
    const auto& best = choices.front();
    if (!best.safe()) {
        document.line("No choice is safe: match transfers by tag, or change the order.");
        return;
    }
    document.line(
        fmt::format("Use receives '{}' and communicators '{}': they cannot hang, and no safe choice is faster.",
                    receivesOf(best), communicatorKindName(best.kind)));
    const auto one = std::ranges::find_if(
        choices, [](const CommunicationChoice& each) { return each.kind == CommunicatorKind::One && each.safe(); });
    if (one != choices.end() && one != choices.begin())
        document.line(fmt::format("With one communicator, the fastest safe receives are '{}': {}.", receivesOf(*one),
                                  formatTime(*one->makespan)));
}

void addWeightChoices(Document& document, const std::vector<WeightChoice>& choices,
                      const std::vector<EarlierUnshard>& late) {
    const bool memory = std::ranges::any_of(choices, [](const WeightChoice& each) { return each.peak.has_value(); });
    Table table("weight_choices", {column("max_active_stages", "max_active_stages"),
                                   column("unshard_lookahead", "lookahead", Align::Left),
                                   column("makespan_ns", "makespan"), column("peak_bytes", "peak memory")});
    table.columns[3].hidden = !memory;
    for (const WeightChoice& each : choices)
        table.row(each.max_active_stages, each.lookahead, each.makespan,
                  each.peak ? Cell(*each.peak, Look::Bytes) : orNone(each.peak));
    document.add(std::move(table));
    document.line(fmt::format("Use {} active stages with lookahead '{}': no other choice is faster.",
                              choices.front().max_active_stages, choices.front().lookahead));
    addEarlierUnshards(document, late);
}

void addEarlierUnshards(Document& document, const std::vector<EarlierUnshard>& late) {
    Value::List earlier;
    for (const EarlierUnshard& each : late) {
        document.line(fmt::format("Unsharding stage {} {} earlier, before {}, hides {} of its {} wait.",
                                  each.stage.value,
                                  each.ops_earlier == 1 ? "one op" : fmt::format("{} ops", each.ops_earlier), each.op,
                                  formatTime(each.hidden), formatTime(each.exposed)));
        earlier.push_back(Value::Object{{"rank", each.rank},
                                        {"stage", each.stage.value},
                                        {"op", each.op},
                                        {"ops_earlier", each.ops_earlier},
                                        {"exposed_ns", each.exposed},
                                        {"hidden_ns", each.hidden}});
    }
    document.data("earlier_unshards", std::move(earlier));
}

Result<Simulated> simulated(const LoweredSchedule& lowered, const CostModel& costs, const QueueModel& queues,
                            const WeightTimes& weights, const MemoryRequest& memory) {
    Simulated run;
    run.schedule = lowered.order;
    BUBBLESCOPE_ASSIGN(LoweredStep queued, simulateLowered(lowered, costs, queues, weights));
    QueueModel free = queues;
    free.communicators = {};
    BUBBLESCOPE_ASSIGN(const LoweredStep without, simulateLowered(lowered, costs, free, weights));
    BUBBLESCOPE_ASSIGN(run.memory, memory.report(lowered, queued));
    run.peak_activations = lowered.movesActivations() ? heldAtMost(lowered, queued) : peakActivations(run.schedule);
    run.step = std::move(queued.step);
    run.queues = QueueCosts{std::string(communicatorKindName(queues.communicators.kind)), without.step.wall(),
                            std::move(queued.queues), std::move(queued.actions)};
    run.analysis = analyzeStep(run.step, run.schedule);
    return run;
}

Result<Simulated> simulated(Schedule schedule, const CostModel& costs, const MemoryRequest& memory) {
    Simulated run;
    run.schedule = std::move(schedule);
    BUBBLESCOPE_ASSIGN(run.step, simulate(run.schedule, costs));
    run.peak_activations = peakActivations(run.schedule);
    BUBBLESCOPE_ASSIGN(run.memory, memory.report(run.schedule));
    run.analysis = analyzeStep(run.step, run.schedule);
    if (auto form = closedForm(run.schedule, costs); form.ok()) run.form = std::move(form).value();
    return run;
}

Value simulatedOps(const StepTimeline& step) {
    Value::List ops;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r]) {
            Value::List entry{std::string(1, opLetter(op.op.kind)), op.op.microbatch, op.op.chunk, r, op.start, op.end};
            if (op.op.sequence > 0) entry.emplace_back(op.op.sequence);
            ops.emplace_back(std::move(entry));
        }
    }
    return ops;
}

Document simulationDocument(const Simulated& run, bool with_ops) {
    const BubbleRates& rates = run.analysis.rates;
    Document document;
    document.line(fmt::format("{}: makespan {}, bubble rate {:.2f} % of the makespan\n"
                              "  ({:.2f} % on the longest span, {:.2f} % over the ideal)\n",
                              scheduleTitle(run.schedule), formatTime(run.step.wall()), 100 * rates.over_makespan,
                              100 * rates.span, 100 * rates.over_ideal));
    addCompared(document, run.compared());
    document.add(simulatedRanks(run));
    addVersions(document, run);
    if (run.memory) addBudgetLines(document, run.schedule, *run.memory);
    if (run.queues) addQueues(document, run);
    if (with_ops) document.data("ops", simulatedOps(run.step));
    return document;
}

} // namespace bubblescope::report
