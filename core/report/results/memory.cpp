#include "core/report/results/memory.h"

#include "core/base/bytes.h"

#include <fmt/format.h>

namespace bubblescope::report {
namespace {

Value memoryOpOf(const Schedule& schedule, Rank rank, std::size_t index) {
    return peakOpValue(schedule.ranks[rank.index()][index], index);
}

std::vector<HeldPieces> heldAtPeak(const Schedule& schedule, const MemoryReport& all, Rank rank) {
    if (schedule.ranks[rank.index()].empty() || !all.over_time.empty()) return {};
    return heldDuring(schedule, all.model, rank, all.ranks[rank.index()].peak_op);
}

} // namespace

Value peakOpValue(const Op& op, std::size_t index) {
    return Value::Object{{"index", index},
                         {"op", Value::List{std::string(1, opLetter(op.kind)), op.microbatch, op.chunk}}};
}

Value heldValue(std::span<const HeldPieces> held) {
    Value::List list;
    for (const HeldPieces& pieces : held)
        list.emplace_back(Value::Object{{"count", pieces.count}, {"bytes", pieces.bytes}});
    return list;
}

std::string peakWords(std::int64_t peak_bytes, std::span<const HeldPieces> held) {
    std::string words;
    for (const HeldPieces& pieces : held) {
        words += fmt::format("{} × {} + ", pieces.count, formatBytes(pieces.bytes));
        peak_bytes -= pieces.count * pieces.bytes;
    }
    return words + formatBytes(peak_bytes);
}

std::string peakWords(const Schedule& schedule, const MemoryReport& all, Rank rank) {
    return peakWords(all.ranks[rank.index()].peak(), heldAtPeak(schedule, all, rank));
}

Value::Object memoryOf(const Schedule& schedule, const MemoryReport& all, Rank rank) {
    const RankMemory& memory = all.ranks[rank.index()];
    const bool any = !schedule.ranks[rank.index()].empty();
    return {{"weights_bytes", memory.weights},
            {"gradients_bytes", memory.gradients},
            {"optimizer_bytes", memory.optimizer},
            {"other_bytes", memory.other},
            {"peak_activation_bytes", memory.peak_activations},
            {"peak_bytes", memory.peak()},
            {"peak_op", !all.over_time.empty() ? Value(all.over_time[rank.index()].peak_op)
                        : any                  ? memoryOpOf(schedule, rank, memory.peak_op)
                                               : Value()},
            {"peak_held", heldValue(heldAtPeak(schedule, all, rank))},
            {"over_budget", memory.over_budget ? memoryOpOf(schedule, rank, *memory.over_budget) : Value()}};
}

Value curveValue(std::span<const MemoryPoint> curve) {
    Value::List points;
    for (const MemoryPoint& point : curve)
        points.emplace_back(Value::List{point.time, point.bytes});
    return points;
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
