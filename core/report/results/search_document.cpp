#include "core/report/results/search_document.h"

#include "core/base/field.h"
#include "core/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <utility>

namespace bubblescope::report {
namespace {

/// As `schedule --json`.
Value foundSchedule(const Schedule& schedule) {
    Value::List ranks;
    for (const auto& list : schedule.ranks) {
        Value::List ops;
        for (const Op& op : list) {
            Value::List entry{std::string(1, opLetter(op.kind)), op.microbatch, op.chunk};
            if (op.overlapped) entry.emplace_back("o");
            ops.emplace_back(std::move(entry));
        }
        ranks.emplace_back(std::move(ops));
    }
    return Value::Object{{"schedule", schedule.name}, {"flavor", schedule.flavor},
                         {"pp", schedule.pp},         {"microbatches", schedule.microbatches},
                         {"vpp", schedule.vpp},       {"placement", placementName(schedule.placement)},
                         {"ranks", std::move(ranks)}};
}

Value foundNoise(const std::optional<NoisySteps>& noisy) {
    if (!noisy) return {};
    return Value::Object{{"mean_ns", TimeNs{noisy->mean}}, {"p95_ns", TimeNs{noisy->late}}};
}

Value foundFamily(const std::optional<FamilyStep>& family) {
    if (!family) return {};
    return Value::Object{{"name", family->name},
                         {"flavor", family->flavor},
                         {"group_size", family->group_size > 0 ? Value(family->group_size) : Value()},
                         {"makespan_ns", family->makespan},
                         {"noise", foundNoise(family->noisy)}};
}

void addFoundLines(Document& document, const FoundOrder& found, double seconds) {
    document.line(fmt::format("{}, {} placement: makespan {}, {}", scheduleTitle(found.schedule),
                              placementName(found.schedule.placement), formatTime(found.makespan),
                              found.proven ? "proven optimal"
                                           : fmt::format("{} above the lower bound", formatPercent(found.gap(), 2))));
    document.paragraph("", fmt::format("Lower bound {}: {}.", formatTime(found.bound), found.reason.text()));
    if (found.best_family) {
        const TimeNs change = found.makespan - found.best_family->makespan;
        const int group = found.best_family->group_size;
        std::string line =
            fmt::format("Best named schedule: {}{}, {}", orderName(found.best_family->name, found.best_family->flavor),
                        group > 0 ? fmt::format(" with {}", Field("group_size").is(group)) : std::string(),
                        formatTime(found.best_family->makespan));
        if (change != TimeNs{0})
            line += fmt::format("; this order is {} {}",
                                formatPercent(std::abs(fractionOf(change, found.best_family->makespan))),
                                change > TimeNs{0} ? "longer" : "shorter");
        document.line(line);
    } else {
        document.line("Best named schedule: none supports these sizes and fits in memory");
    }
    if (found.noisy) {
        document.line(fmt::format("Under noise: mean {}, 95 of 100 steps take up to {}",
                                  formatTime(TimeNs{found.noisy->mean}), formatTime(TimeNs{found.noisy->late})));
        if (found.noisy_bound) {
            document.line(fmt::format(
                "  any order: mean of at least {} ({} below this one)", formatTime(TimeNs{*found.noisy_bound}),
                formatPercent(fractionOf(TimeNs{found.noisy->mean - *found.noisy_bound}, TimeNs{found.noisy->mean}),
                              2)));
        }
        if (found.best_family && found.best_family->noisy)
            document.line(fmt::format("  best named schedule: mean {}, up to {}",
                                      formatTime(TimeNs{found.best_family->noisy->mean}),
                                      formatTime(TimeNs{found.best_family->noisy->late})));
    }
    document.line(fmt::format("Peak activations by rank: {}", fmt::join(found.peak_activations, " ")));
    document.paragraph(
        "", fmt::format("{}; {} of {} evaluated moves applied. `{}` with the same seed reproduces the result.",
                        pluralize(static_cast<std::size_t>(found.rounds), "round"), found.moves, found.judged,
                        Field("rounds").is(found.rounds)));
    document.data("seconds", seconds);
}

void addRecordedOrder(Document& document, const std::optional<RecordedOrder>& recorded, const FoundOrder& found) {
    if (!recorded) {
        document.data("from", {});
        return;
    }
    document.data("from", Value::Object{{"observed_ns", recorded->observed},
                                        {"simulated_ns", recorded->simulated},
                                        {"replay_error", recorded->error}});
    const TimeNs change = found.makespan - recorded->simulated;
    document.paragraph("", fmt::format("A recorded step takes {}; its order takes {} with the mean op times. The order "
                                       "found changes that time by {:+.1f} %; the replay error is {}. Activations are "
                                       "limited to each rank's recorded maximum, unless an option sets a limit.",
                                       formatTime(recorded->observed), formatTime(recorded->simulated),
                                       100 * fractionOf(change, recorded->simulated), formatPercent(recorded->error)));
}

} // namespace

Document foundPlanDocument(const FoundPlan& found, const std::vector<std::int64_t>& budgets, double seconds) {
    const MemoryPlan& plan = found.plan;
    const FoundOrder& unlimited = found.unlimited;
    const Schedule& order = plan.lowered.order;
    const double gap = fractionOf(plan.makespan() - unlimited.bound, unlimited.bound);
    Document document;
    document.data("schedule", foundSchedule(order));
    document.data("makespan_ns", plan.makespan());
    document.data("bound_ns", unlimited.bound);
    document.data("gap", gap);
    document.data("unlimited_ns", unlimited.makespan);
    document.data("without_moves_ns", found.without_moves ? Value(*found.without_moves) : Value());
    document.data("offloaded", plan.offloaded);
    document.data("recomputed", plan.recomputed);
    document.data("balanced", plan.balanced);
    document.data("seconds", seconds);
    document.line(fmt::format("{}: makespan {}, {} above the lower bound of {} for any order without a memory limit",
                              scheduleTitle(order), formatTime(plan.makespan()), formatPercent(gap, 2),
                              formatTime(unlimited.bound)));
    document.line(fmt::format("Activations of {} forwards offloaded, {} recomputed, {} stored by another rank",
                              plan.offloaded, plan.recomputed, plan.balanced));
    const TimeNs cost = plan.makespan() - unlimited.makespan;
    document.line(fmt::format("The best order without a memory limit takes {}: the limit costs {} ({})",
                              formatTime(unlimited.makespan), formatTime(cost),
                              formatPercent(fractionOf(cost, unlimited.makespan))));
    document.line(found.without_moves ? fmt::format("Without moves, the best order that fits in memory takes {}",
                                                    formatTime(*found.without_moves))
                                      : "Without moves, no order fits in memory");
    Table table("ranks", {column("rank", "rank"), column("peak_bytes", "peak"), column("peak_op", "at", Align::Left),
                          column("budget_bytes", "budget"), column("unmoved_peak_bytes", "peak without moves")});
    for (std::size_t r = 0; r < plan.memory.size(); ++r) {
        table.row(r, Cell(plan.memory[r].peak, Look::Bytes), plan.memory[r].peak_op,
                  Cell(budgets[budgets.size() == 1 ? 0 : r], Look::Bytes), Cell(plan.unmoved_peaks[r], Look::Bytes));
    }
    document.add(std::move(table));
    return document;
}

Document foundOrderDocument(const FoundOrder& found, const std::optional<RecordedOrder>& recorded, double seconds) {
    Document document;
    document.data("schedule", foundSchedule(found.schedule));
    document.data("makespan_ns", found.makespan);
    document.data("bound_ns", found.bound);
    document.data("gap", found.gap());
    document.data("proven", found.proven);
    document.data("reason", found.reason.text());
    document.data("best_family", foundFamily(found.best_family));
    document.data("peak_activations", found.peak_activations);
    Value noise = foundNoise(found.noisy);
    if (found.noisy) {
        noise = Value::Object{{"mean_ns", TimeNs{found.noisy->mean}},
                              {"p95_ns", TimeNs{found.noisy->late}},
                              {"bound_ns", found.noisy_bound ? Value(TimeNs{*found.noisy_bound}) : Value()}};
    }
    document.data("noise", std::move(noise));
    document.data("rounds", found.rounds);
    document.data("stopped", found.stopped);
    document.data("moves_judged", found.judged);
    document.data("moves", found.moves);
    document.data("ops_touched", found.touched);
    addFoundLines(document, found, seconds);
    addRecordedOrder(document, recorded, found);
    return document;
}

} // namespace bubblescope::report
