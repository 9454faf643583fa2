#pragma once

#include "core/base/result.h"
#include "core/report/data_table.h"
#include "core/trace/trace.h"

#include <optional>
#include <string_view>

namespace bubblescope::report {

/// The raw slices of a trace: "rank" (of the file, if known), "process", "thread", "category", "name", "start_ns" and
/// "duration_ns". Starts count from the trace's first event. With a `category`, contains only its slices, which `info`
/// counts under that name. Error: Usage, listing the existing categories.
[[nodiscard]] Result<DataTable> slicesTable(const Trace& trace, std::optional<std::string_view> category);

} // namespace bubblescope::report
