#include "app/cli/memory_options.h"

#include "core/base/bytes.h"
#include "core/cost/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>

namespace bubblescope::cli {
namespace {

report::Value opOf(const Schedule& schedule, Rank rank, std::size_t index) {
    using report::Value;
    const Op& op = schedule.ranks[rank.index()][index];
    return Value::Object{{"index", index},
                         {"op", Value::List{std::string(1, opLetter(op.kind)), op.microbatch, op.chunk}}};
}

} // namespace

bool MemoryReport::overBudget() const {
    return std::ranges::any_of(ranks, [](const RankMemory& rank) { return rank.over_budget.has_value(); });
}

report::Value::Object memoryOf(const Schedule& schedule, const MemoryReport& report, Rank rank) {
    using report::Value;
    const RankMemory& memory = report.ranks[rank.index()];
    const bool any = !schedule.ranks[rank.index()].empty();
    return {{"weights_bytes", memory.weights},
            {"gradients_bytes", memory.gradients},
            {"optimizer_bytes", memory.optimizer},
            {"peak_activation_bytes", memory.peak_activations},
            {"peak_bytes", memory.peak()},
            {"peak_op", any ? opOf(schedule, rank, memory.peak_op) : Value()},
            {"over_budget", memory.over_budget ? opOf(schedule, rank, *memory.over_budget) : Value()}};
}

void addBudgetLines(report::Section& document, const Schedule& schedule, const MemoryReport& report) {
    if (!report.budget) return;
    document.line("");
    const std::string budget = formatBytes(*report.budget);
    for (std::size_t r = 0; r < report.ranks.size(); ++r) {
        const RankMemory& memory = report.ranks[r];
        if (!memory.over_budget) continue;
        document.line(fmt::format(
            "Rank {} exceeds {} from {} on, its op {}{}.", r, budget, opName(schedule.ranks[r][*memory.over_budget]),
            *memory.over_budget,
            memory.fixed() > *report.budget ? "; weights, gradients and optimizer alone are too large" : ""));
    }
    if (!report.overBudget()) document.line(fmt::format("Every rank stays within {}.", budget));
}

void MemoryOptions::add(Command command) {
    const Option model =
        command.addOption("--memory-model", model_, "Tensor sizes of the model's layers, as JSON").typeName("FILE");
    command.addOption("--memory-budget", budget_, "Memory of a rank, such as 80GiB: names the first op beyond it")
        .typeName("SIZE")
        .needs(model);
}

Result<MemoryModel> MemoryOptions::readModel(const Schedule& schedule) const {
    BUBBLESCOPE_ASSIGN(const ModelSizes sizes, readModelSizes(model_));
    return memoryModel(sizes, schedule);
}

Result<std::optional<MemoryModel>> MemoryOptions::model(const Schedule& schedule) const {
    if (model_.empty()) return std::optional<MemoryModel>{};
    BUBBLESCOPE_ASSIGN(MemoryModel model, readModel(schedule));
    return std::optional(std::move(model));
}

Result<std::optional<std::int64_t>> MemoryOptions::budget() const {
    if (!budget_) return std::optional<std::int64_t>{};
    BUBBLESCOPE_ASSIGN(const std::int64_t bytes, parseBytes(*budget_));
    return std::optional(bytes);
}

Result<std::optional<MemoryReport>> MemoryOptions::report(const Schedule& schedule) const {
    if (model_.empty()) return std::optional<MemoryReport>{};
    BUBBLESCOPE_ASSIGN(MemoryModel model, readModel(schedule));
    BUBBLESCOPE_ASSIGN(const auto budget, this->budget());
    MemoryReport report{std::move(model), budget, {}};
    report.ranks = memoryUse(schedule, report.model, budget);
    return std::optional(std::move(report));
}

} // namespace bubblescope::cli
