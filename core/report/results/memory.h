#pragma once

#include "core/report/document.h"
#include "core/request/memory_request.h"

namespace bubblescope::report {

/// Memory of one rank, for programs; `schedule` names its ops.
[[nodiscard]] Value::Object memoryOf(const Schedule& schedule, const MemoryReport& memory, Rank rank);

/// What a rank holds at its peak: "8 × 7.451 GiB + 44.721 GiB", activations of equal size and the rest.
[[nodiscard]] std::string peakWords(const Schedule& schedule, const MemoryReport& memory, Rank rank);

/// Adds one line per rank that exceeds the budget, with the first op that does, or one line saying that no rank does;
/// nothing without a budget.
void addBudgetLines(Section& document, const Schedule& schedule, const MemoryReport& memory);

} // namespace bubblescope::report
