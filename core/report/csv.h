#pragma once

#include "core/report/data_table.h"

#include <functional>
#include <string_view>

namespace bubblescope::report {

/// Writes a table in CSV (RFC 4180 except for the line ends, which are "\n"), a row of column names first, then line by
/// line: tables of ops have millions. Times are integer nanoseconds, as in JSON; nulls are empty cells, and texts those
/// of csvCell().
void writeCsv(const DataTable& table, const std::function<void(std::string_view)>& sink);

} // namespace bubblescope::report
