#pragma once

#include "core/optimize/search/search.h"
#include "core/report/document.h"
#include "core/request/order_request.h"

#include <optional>

namespace bubblescope::report {

/// The order found by a search that took `seconds`.
[[nodiscard]] Document foundOrderDocument(const FoundOrder& found, const std::optional<RecordedOrder>& recorded,
                                          double seconds);

} // namespace bubblescope::report
