#pragma once

#include "core/report/value.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace bubblescope::report {

/// Rows of a table in CSV (RFC 4180 except for the line ends, which are "\n"), written one at a time: tables of ops
/// have millions. Times are integer nanoseconds, as in JSON; null and absent values are empty cells. Text that a
/// spreadsheet would take for a formula (it begins with =, +, -, @, a tab or a carriage return) gets an apostrophe in
/// front.
class CsvRows {
public:
    using Sink = std::function<void(std::string_view)>;
    explicit CsvRows(Sink sink) : sink_(std::move(sink)) {}

    void row(std::initializer_list<Value> cells);

private:
    Sink sink_;
    std::string line_;
};

/// One cell, as above.
[[nodiscard]] std::string csvCell(const Value& value);

} // namespace bubblescope::report
