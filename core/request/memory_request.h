#pragma once

#include "core/base/result.h"
#include "core/cost/memory_estimate.h"
#include "core/cost/memory_model.h"
#include "core/graph/lowered_memory.h"
#include "core/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Memory of every rank, if a memory model was given.
struct MemoryReport {
    MemoryModel model;
    std::optional<std::int64_t> budget; ///< bytes
    std::vector<RankMemory> ranks;
    std::vector<MeasuredPeak> measured; ///< that the model was fitted to
    /// If activations are offloaded or recomputed, or weights gathered: the memory over time, and `ranks` have its
    /// peaks. Empty: memory follows from the order.
    std::vector<LoweredMemory> over_time;

    /// True if some rank exceeds the budget.
    [[nodiscard]] bool overBudget() const;
};

/// The user's memory options: a file of the model's tensor sizes or the name of a known model, how the model is
/// distributed, and a budget.
struct MemoryRequest {
    std::string model;                  ///< a file; empty: none
    std::string preset;                 ///< instead of a file, such as "llama3-8b"; empty: none
    std::optional<std::int64_t> budget; ///< bytes per rank
    std::optional<int> tensor_ranks;    ///< for a preset; default 1
    std::optional<int> sequence;        ///< tokens, for a preset; defaults to the model's own
    std::optional<int> microbatch;      ///< sequences, for a preset; default 1
    std::vector<double> slice_tokens;   ///< see MemoryModel
    /// If given, the sizes are fitted to these, see fittedTo(). A model is then optional: without one, all stages hold
    /// the same.
    std::vector<MeasuredPeak> peaks;

    /// Empty without a model. `schedule` must be valid. Errors: Usage, Input.
    [[nodiscard]] Result<std::optional<MemoryReport>> report(const Schedule& schedule) const;
    /// As report(), for a simulated step with actions.
    [[nodiscard]] Result<std::optional<MemoryReport>> report(const LoweredSchedule& lowered,
                                                             const LoweredStep& step) const;
    [[nodiscard]] Result<std::optional<MemoryModel>> use(const Schedule& schedule) const;
    [[nodiscard]] bool hasModel() const { return !model.empty() || !preset.empty() || !peaks.empty(); }
    /// The sizes of the given model. Errors: Usage, Input.
    [[nodiscard]] Result<ModelSizes> sizes() const;
    /// The preset's shape, distributed as requested; empty for a file. Errors: Usage.
    [[nodiscard]] Result<std::optional<TransformerShape>> shape() const;

private:
    [[nodiscard]] Result<MemoryModel> readModel(const Schedule& schedule) const;
};

/// Parses measured peaks: "0=104GiB,3=88GiB".
[[nodiscard]] Result<std::vector<MeasuredPeak>> parseMeasuredPeaks(std::string_view text);

} // namespace bubblescope
