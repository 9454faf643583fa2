#pragma once

#include "core/optimize/search/memory_plan.h"
#include "core/report/document.h"
#include "core/request/order_request.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope::report {

/// An order that was found by a search of `seconds` seconds.
[[nodiscard]] Document foundOrderDocument(const FoundOrder& found, const std::optional<RecordedOrder>& recorded,
                                          double seconds);

/// A plan with moves of activations for these memory budgets, found in `seconds` seconds.
[[nodiscard]] Document foundPlanDocument(const FoundPlan& found, const std::vector<std::int64_t>& budgets,
                                         double seconds);

} // namespace bubblescope::report
