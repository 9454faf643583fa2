#pragma once

#include "core/report/data_table.h"

#include <functional>
#include <string_view>

namespace bubblescope::report {

/// Writes a table in Apache Arrow's streaming format (version 1.0 and later): the schema, batches of rows, and the end
/// marker. Strings become UTF-8 columns; columns may contain nulls.
void writeArrowStream(const DataTable& table, const std::function<void(std::string_view)>& sink);

} // namespace bubblescope::report
