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

/// Memory of every rank, if a memory model is specified.
struct MemoryReport {
    MemoryModel model;
    std::optional<std::int64_t> budget; ///< bytes
    std::vector<RankMemory> ranks;
    std::vector<MeasuredPeak> measured; ///< peaks to which the model was fitted
    /// Memory over time if activations are offloaded or recomputed, or weights are gathered; `ranks` then contains its
    /// peaks. Empty if memory depends only on the order.
    std::vector<LoweredMemory> over_time;

    /// True if at least one rank exceeds the budget.
    [[nodiscard]] bool overBudget() const;
};

/// The user's memory options: a file with the model's tensor sizes or the name of a known model, the distribution of
/// the model, and a budget.
struct MemoryRequest {
    std::string model;                  ///< path of a file; empty = none
    std::string preset;                 ///< name such as "llama3-8b", instead of a file; empty = none
    std::optional<std::int64_t> budget; ///< bytes available per rank
    std::optional<int> tensor_ranks;    ///< for a preset; the default is 1
    std::optional<int> sequence;        ///< tokens, for a preset; the default is the model's sequence length
    std::optional<int> microbatch;      ///< sequences, for a preset; the default is 1
    std::vector<double> slice_tokens;   ///< see MemoryModel
    /// If present, sizes are fitted to these peaks; see fittedTo(). The model is then optional: without it, all stages
    /// are assumed to be equal.
    std::vector<MeasuredPeak> peaks;

    /// Empty if there is no model. `schedule` must be valid. Errors: Usage, Input.
    [[nodiscard]] Result<std::optional<MemoryReport>> report(const Schedule& schedule) const;
    /// As above, for a simulated step with actions.
    [[nodiscard]] Result<std::optional<MemoryReport>> report(const LoweredSchedule& lowered,
                                                             const LoweredStep& step) const;
    [[nodiscard]] Result<std::optional<MemoryModel>> use(const Schedule& schedule) const;
    [[nodiscard]] bool hasModel() const { return !model.empty() || !preset.empty() || !peaks.empty(); }
    /// Tensor sizes of the specified model. Errors: Usage, Input.
    [[nodiscard]] Result<ModelSizes> sizes() const;
    /// Shape of the preset, distributed as requested; empty if a file is used. Errors: Usage.
    [[nodiscard]] Result<std::optional<TransformerShape>> shape() const;

private:
    [[nodiscard]] Result<MemoryModel> readModel(const Schedule& schedule) const;
};

/// Parses measured peaks such as "0=104GiB,3=88GiB".
[[nodiscard]] Result<std::vector<MeasuredPeak>> parseMeasuredPeaks(std::string_view text);

} // namespace bubblescope
