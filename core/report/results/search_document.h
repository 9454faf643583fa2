#pragma once

#include "core/optimize/search/memory_plan.h"
#include "core/report/document.h"
#include "core/request/order_request.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope::report {

/// Document about an order found by a search that took `seconds`.
[[nodiscard]] Document foundOrderDocument(const FoundOrder& found, const std::optional<RecordedOrder>& recorded,
                                          double seconds);

/// Document about a plan that moves activations to meet these memory budgets; the search took `seconds`.
[[nodiscard]] Document foundPlanDocument(const FoundPlan& found, const std::vector<std::int64_t>& budgets,
                                         double seconds);

} // namespace bubblescope::report
