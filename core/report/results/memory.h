#pragma once

#include "core/report/document.h"
#include "core/request/memory_request.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bubblescope::report {

/// Memory of one rank, for programs; `schedule` is used to determine the names of ops.
[[nodiscard]] Value::Object memoryOf(const Schedule& schedule, const MemoryReport& memory, Rank rank);

/// The parts of a rank's peak: activations of equal size, and the remainder, such as "8 × 7.5 GiB + 44 GiB".
[[nodiscard]] std::string peakWords(const Schedule& schedule, const MemoryReport& memory, Rank rank);
[[nodiscard]] std::string peakWords(std::int64_t peak_bytes, std::span<const HeldPieces> held);
/// As above, for programs: an op with its index in the list of its rank, and the activations.
[[nodiscard]] Value peakOpValue(const Op& op, std::size_t index);
[[nodiscard]] Value heldValue(std::span<const HeldPieces> held);

/// A memory curve, for programs: pairs of time and bytes.
[[nodiscard]] Value curveValue(std::span<const MemoryPoint> curve);

/// Adds a line for each rank that exceeds the budget, with the first op that exceeds it, or a single line if no rank
/// exceeds the budget. Adds nothing if there is no budget.
void addBudgetLines(Section& document, const Schedule& schedule, const MemoryReport& memory);

} // namespace bubblescope::report
