#include "core/request/memory_request.h"

#include "core/base/bytes.h"
#include "core/cost/memory_estimate.h"

#include <algorithm>
#include <utility>

namespace bubblescope {

bool MemoryReport::overBudget() const {
    return std::ranges::any_of(ranks, [](const RankMemory& rank) { return rank.over_budget.has_value(); });
}

Result<MemoryModel> MemoryRequest::readModel(const Schedule& schedule) const {
    BUBBLESCOPE_ASSIGN(const ModelSizes sizes, readModelSizes(model));
    return memoryModel(sizes, schedule);
}

Result<std::optional<MemoryModel>> MemoryRequest::use(const Schedule& schedule) const {
    if (model.empty()) return std::optional<MemoryModel>{};
    BUBBLESCOPE_ASSIGN(MemoryModel read, readModel(schedule));
    return std::optional(std::move(read));
}

Result<std::optional<std::int64_t>> MemoryRequest::limit() const {
    if (!budget) return std::optional<std::int64_t>{};
    BUBBLESCOPE_ASSIGN(const std::int64_t bytes, parseBytes(*budget));
    return std::optional(bytes);
}

Result<std::optional<MemoryReport>> MemoryRequest::report(const Schedule& schedule) const {
    if (model.empty()) return std::optional<MemoryReport>{};
    BUBBLESCOPE_ASSIGN(MemoryModel read, readModel(schedule));
    BUBBLESCOPE_ASSIGN(const auto bytes, limit());
    MemoryReport made{std::move(read), bytes, {}};
    made.ranks = memoryUse(schedule, made.model, bytes);
    return std::optional(std::move(made));
}

} // namespace bubblescope
