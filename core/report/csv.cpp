#include "core/report/csv.h"

#include "core/report/json.h"

#include <fmt/format.h>

#include <cmath>

namespace bubblescope::report {
namespace {

std::string textCell(std::string_view text) {
    std::string cell;
    if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) cell = "'";
    cell += text;
    if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
    std::string quoted = "\"";
    for (const char c : cell)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

struct CsvCellOf {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(Value::Absent) const { return {}; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
    std::string operator()(TimeNs value) const { return fmt::format("{}", value.count()); }
    std::string operator()(const std::string& value) const { return textCell(value); }
    std::string operator()(const Sentence& value) const { return textCell(value.text()); }
    std::string operator()(const Value::List& value) const {
        return textCell(toJson(Value(value), JsonLayout::OneLine));
    }
    std::string operator()(const Value::Object& value) const {
        return textCell(toJson(Value(value), JsonLayout::OneLine));
    }
};

} // namespace

std::string csvCell(const Value& value) {
    return value.visit(CsvCellOf{});
}

void CsvRows::row(std::initializer_list<Value> cells) {
    line_.clear();
    for (const Value& cell : cells) {
        if (&cell != cells.begin()) line_ += ',';
        line_ += csvCell(cell);
    }
    line_ += '\n';
    sink_(line_);
}

} // namespace bubblescope::report
