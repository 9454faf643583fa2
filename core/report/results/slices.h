#pragma once

#include "core/base/result.h"
#include "core/report/data_table.h"
#include "core/trace/trace.h"

#include <optional>
#include <string_view>

namespace bubblescope::report {

/// Raw slices of a trace: "rank" (of the file, if known), "process", "thread", "category", "name", "start_ns" and
/// "duration_ns". Start times are relative to the first event of the trace. With a `category`, contains only slices of
/// that category, as counted by `info`. Error: Usage; the message lists the existing categories.
[[nodiscard]] Result<DataTable> slicesTable(const Trace& trace, std::optional<std::string_view> category);

} // namespace bubblescope::report
