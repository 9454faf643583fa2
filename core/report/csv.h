#pragma once

#include "core/report/data_table.h"

#include <functional>
#include <string>
#include <string_view>

namespace bubblescope::report {

/// Writes a table in CSV (RFC 4180 except for the line ends, which are "\n"), a row of column names first, then line by
/// line: tables of ops have millions. Times are integer nanoseconds, as in JSON; nulls are empty cells. Text that a
/// spreadsheet would take for a formula (it begins with =, +, -, @, a tab or a carriage return) gets an apostrophe in
/// front.
void writeCsv(const DataTable& table, const std::function<void(std::string_view)>& sink);

/// A cell that holds text, as above.
[[nodiscard]] std::string csvText(std::string_view text);

} // namespace bubblescope::report
