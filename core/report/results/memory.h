#pragma once

#include "core/report/document.h"
#include "core/request/memory_request.h"

namespace bubblescope::report {

/// Memory of one rank, for programs; `schedule` is used to name its ops.
[[nodiscard]] Value::Object memoryOf(const Schedule& schedule, const MemoryReport& memory, Rank rank);

/// The parts of a rank's peak, namely activations of equal size and the remainder: "8 × 7.5 GiB + 44 GiB".
[[nodiscard]] std::string peakWords(const Schedule& schedule, const MemoryReport& memory, Rank rank);

/// Adds one line for each rank that exceeds the budget, with its first op that does, or a line that no rank exceeds it.
/// Adds nothing without a budget.
void addBudgetLines(Section& document, const Schedule& schedule, const MemoryReport& memory);

} // namespace bubblescope::report
