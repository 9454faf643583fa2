#include "core/request/memory_request.h"

#include "core/base/bytes.h"
#include "core/base/field.h"
#include "core/base/text.h"
#include "core/cost/memory_estimate.h"
#include "core/cost/model_presets.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kUnit = std::int64_t{1} << 29;

/// The op that runs at `time`, or the next one; the last one if there is none.
std::size_t indexAt(const std::vector<TimelineOp>& ops, TimeNs time) {
    const auto later = std::ranges::find_if(ops, [time](const TimelineOp& op) { return op.end > time; });
    return std::min(static_cast<std::size_t>(later - ops.begin()), ops.empty() ? 0 : ops.size() - 1);
}

} // namespace

Result<std::vector<MeasuredPeak>> parseMeasuredPeaks(std::string_view text) {
    std::vector<MeasuredPeak> peaks;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view entry = text.substr(begin, end - begin);
        const std::size_t sign = std::min(entry.find('='), entry.size());
        const auto rank = parseNumber<std::int32_t>(trimmed(entry.substr(0, sign)));
        if (!rank || *rank < 0 || sign == entry.size())
            return usageError(fmt::format("'{}' does not specify a rank and its peak", entry),
                              "write RANK=SIZE, such as 0=104GiB");
        BUBBLESCOPE_ASSIGN(const std::int64_t bytes, parseBytes(entry.substr(sign + 1)));
        peaks.push_back({Rank{*rank}, bytes});
        begin = end + 1;
    }
    return peaks;
}

bool MemoryReport::overBudget() const {
    return std::ranges::any_of(ranks, [](const RankMemory& rank) { return rank.over_budget.has_value(); });
}

Result<MemoryModel> MemoryRequest::readModel(const Schedule& schedule) const {
    MemoryModel made;
    if (model.empty() && preset.empty()) {
        StageMemory alike; // fitted below, so that only the proportions count
        alike.activations = {2 * kUnit, kUnit, kUnit};
        made.stages.assign(static_cast<std::size_t>(schedule.stages()), alike);
    } else {
        BUBBLESCOPE_ASSIGN(const ModelSizes read, sizes());
        BUBBLESCOPE_ASSIGN(made, memoryModel(read, schedule));
    }
    made.slice_tokens = slice_tokens;
    return peaks.empty() ? Result(std::move(made)) : fittedTo(peaks, schedule, std::move(made));
}

Result<ModelSizes> MemoryRequest::sizes() const {
    const bool shaped = tensor_ranks || sequence || microbatch;
    if (preset.empty() && shaped)
        return usageError("a file defines its own tensor-parallel ranks, sequence length and micro-batch size",
                          "use a preset instead");
    if (preset.empty()) return readModelSizes(model);
    BUBBLESCOPE_ASSIGN(const auto spread, shape());
    return transformerSizes(*spread);
}

Result<std::optional<TransformerShape>> MemoryRequest::shape() const {
    if (preset.empty()) return std::optional<TransformerShape>();
    BUBBLESCOPE_ASSIGN(TransformerShape spread, modelPresetShape(preset));
    spread.tp = tensor_ranks.value_or(1);
    spread.sequence_parallel = spread.tp > 1;
    if (sequence) spread.sequence = *sequence;
    if (microbatch) spread.microbatch = *microbatch;
    return std::optional(spread);
}

Result<std::optional<MemoryModel>> MemoryRequest::use(const Schedule& schedule) const {
    if (!hasModel()) return std::optional<MemoryModel>{};
    BUBBLESCOPE_ASSIGN(MemoryModel read, readModel(schedule));
    return std::optional(std::move(read));
}

Result<std::optional<MemoryReport>> MemoryRequest::report(const Schedule& schedule) const {
    if (!hasModel() && budget)
        return usageError(fmt::format("{} needs the model's tensor sizes", Field("memory_budget")),
                          fmt::format("add {} or {}", Field("memory_model").is("FILE"), Field("memory_preset")));
    if (!hasModel()) return std::optional<MemoryReport>{};
    BUBBLESCOPE_ASSIGN(MemoryModel read, readModel(schedule));
    MemoryReport made{std::move(read), budget, {}, peaks, {}};
    made.ranks = memoryUse(schedule, made.model, budget);
    return std::optional(std::move(made));
}

Result<std::optional<MemoryReport>> MemoryRequest::report(const LoweredSchedule& lowered,
                                                          const LoweredStep& step) const {
    BUBBLESCOPE_ASSIGN(auto made, report(lowered.order));
    const bool gathers =
        made && std::ranges::any_of(made->model.stages, [](const StageMemory& stage) { return stage.gathered > 0; });
    if (!made || (!lowered.movesActivations() && !gathers)) return made;
    made->over_time = loweredMemory(lowered, step, made->model);
    for (std::size_t r = 0; r < made->ranks.size(); ++r) {
        RankMemory& rank = made->ranks[r];
        rank.peak_activations = made->over_time[r].peak - rank.fixed();
        rank.over_budget.reset();
        if (budget && rank.peak() > *budget)
            rank.over_budget = indexAt(step.step.ranks[r], made->over_time[r].peak_time);
    }
    return made;
}

} // namespace bubblescope
