#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"
#include "core/cost/memory_model.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// Memory of every rank, where a memory model was given.
struct MemoryReport {
    MemoryModel model;
    std::optional<std::int64_t> budget; ///< bytes
    std::vector<RankMemory> ranks;

    /// True if some rank exceeds the budget.
    [[nodiscard]] bool overBudget() const;
};

/// What a user states about memory: a file of the model's tensor sizes or the name of a known model, how that is
/// spread, and a budget.
struct MemoryRequest {
    std::string model;                  ///< a file; empty: none
    std::string preset;                 ///< in its place, such as "llama3-8b"; empty: none
    std::optional<std::int64_t> budget; ///< bytes of a rank
    std::optional<int> tensor_ranks;    ///< of a preset, which has 1
    std::optional<int> sequence;        ///< tokens, of a preset, which has the model's own
    std::optional<int> microbatch;      ///< sequences, of a preset, which has 1

    /// None without a model. `schedule` is valid. Errors: Usage, Input.
    [[nodiscard]] Result<std::optional<MemoryReport>> report(const Schedule& schedule) const;
    [[nodiscard]] Result<std::optional<MemoryModel>> use(const Schedule& schedule) const;
    [[nodiscard]] bool hasModel() const { return !model.empty() || !preset.empty(); }

private:
    [[nodiscard]] Result<ModelSizes> sizes() const;
    [[nodiscard]] Result<MemoryModel> readModel(const Schedule& schedule) const;
};

} // namespace bubblescope
