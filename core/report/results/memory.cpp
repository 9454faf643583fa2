#include "core/report/results/memory.h"

#include "core/base/bytes.h"

#include <fmt/format.h>

#include <utility>

namespace bubblescope::report {
namespace {

Value memoryOpOf(const Schedule& schedule, Rank rank, std::size_t index) {
    const Op& op = schedule.ranks[rank.index()][index];
    return Value::Object{{"index", index},
                         {"op", Value::List{std::string(1, opLetter(op.kind)), op.microbatch, op.chunk}}};
}

std::vector<HeldPieces> heldAtPeak(const Schedule& schedule, const MemoryReport& all, Rank rank) {
    if (schedule.ranks[rank.index()].empty() || !all.over_time.empty()) return {};
    return heldDuring(schedule, all.model, rank, all.ranks[rank.index()].peak_op);
}

} // namespace

std::string peakWords(const Schedule& schedule, const MemoryReport& all, Rank rank) {
    std::int64_t rest = all.ranks[rank.index()].peak();
    std::string words;
    for (const HeldPieces& pieces : heldAtPeak(schedule, all, rank)) {
        words += fmt::format("{} × {} + ", pieces.count, formatBytes(pieces.bytes));
        rest -= pieces.count * pieces.bytes;
    }
    return words + formatBytes(rest);
}

Value::Object memoryOf(const Schedule& schedule, const MemoryReport& all, Rank rank) {
    const RankMemory& memory = all.ranks[rank.index()];
    const bool any = !schedule.ranks[rank.index()].empty();
    Value::List held;
    for (const HeldPieces& pieces : heldAtPeak(schedule, all, rank))
        held.emplace_back(Value::Object{{"count", pieces.count}, {"bytes", pieces.bytes}});
    return {{"weights_bytes", memory.weights},
            {"gradients_bytes", memory.gradients},
            {"optimizer_bytes", memory.optimizer},
            {"other_bytes", memory.other},
            {"peak_activation_bytes", memory.peak_activations},
            {"peak_bytes", memory.peak()},
            {"peak_op", !all.over_time.empty() ? Value(all.over_time[rank.index()].peak_op)
                        : any                  ? memoryOpOf(schedule, rank, memory.peak_op)
                                               : Value()},
            {"peak_held", std::move(held)},
            {"over_budget", memory.over_budget ? memoryOpOf(schedule, rank, *memory.over_budget) : Value()}};
}

void addBudgetLines(Section& document, const Schedule& schedule, const MemoryReport& all) {
    if (!all.budget) return;
    document.line("");
    const std::string budget = formatBytes(*all.budget);
    for (std::size_t r = 0; r < all.ranks.size(); ++r) {
        const RankMemory& memory = all.ranks[r];
        if (!memory.over_budget) continue;
        document.line(fmt::format(
            "Rank {} exceeds {} from {} on, at op {}{}.", r, budget, opName(schedule.ranks[r][*memory.over_budget]),
            *memory.over_budget,
            memory.fixed() > *all.budget ? "; weights, gradients and optimizer state alone are too large" : ""));
    }
    if (!all.overBudget()) document.line(fmt::format("Every rank stays within {}.", budget));
}

} // namespace bubblescope::report
