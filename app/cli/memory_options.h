#pragma once

#include "app/cli/command_line.h"
#include "core/base/result.h"
#include "core/cost/memory_model.h"
#include "core/report/document.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::cli {

/// Memory of every rank, where a memory model was given.
struct MemoryReport {
    MemoryModel model;
    std::optional<std::int64_t> budget;
    std::vector<RankMemory> ranks;

    /// True if some rank exceeds the budget.
    [[nodiscard]] bool overBudget() const;
};

/// Of one rank, for programs; `schedule` names its ops.
[[nodiscard]] report::Value::Object memoryOf(const Schedule& schedule, const MemoryReport& report, Rank rank);

/// Adds one line per rank that exceeds the budget, with the first op that does, or one that none does; nothing without
/// a budget.
void addBudgetLines(report::Section& document, const Schedule& schedule, const MemoryReport& report);

/// --memory-model and --memory-budget.
class MemoryOptions {
public:
    void add(Command command);

    /// None without --memory-model. `schedule` is valid.
    [[nodiscard]] Result<std::optional<MemoryReport>> report(const Schedule& schedule) const;
    [[nodiscard]] Result<std::optional<MemoryModel>> model(const Schedule& schedule) const;
    [[nodiscard]] Result<std::optional<std::int64_t>> budget() const;

private:
    [[nodiscard]] Result<MemoryModel> readModel(const Schedule& schedule) const;

    std::string model_;
    std::optional<std::string> budget_;
};

} // namespace bubblescope::cli
