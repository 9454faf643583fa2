#include "core/query/result_columns.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace bubblescope::query {
namespace {

using report::ColumnType;
using report::DataColumn;

/// The type of a declared column; numbers if it is computed.
ColumnType declaredType(sqlite3_stmt* statement, int column) {
    const char* const declared = sqlite3_column_decltype(statement, column);
    const std::string_view type = declared == nullptr ? "" : declared;
    return type == "TEXT" ? ColumnType::Text : type == "REAL" ? ColumnType::Float64 : ColumnType::Int64;
}

/// The same values in a wider type.
DataColumn widened(const DataColumn& column, ColumnType type) {
    DataColumn out(column.name(), type);
    out.reserve(column.size());
    for (std::size_t row = 0; row < column.size(); ++row) {
        if (column.null(row))
            out.addNull();
        else if (column.type() == ColumnType::Int64)
            out.add(column.int64s()[row]);
        else if (type == ColumnType::Text)
            out.add(std::string_view(fmt::format("{}", column.float64s()[row])));
        else
            out.add(column.float64s()[row]);
    }
    return out;
}

std::string hexOf(const void* blob, int size) {
    std::string text;
    for (int i = 0; i < size; ++i)
        text += fmt::format("{:02x}", static_cast<const unsigned char*>(blob)[i]);
    return text;
}

} // namespace

ResultColumns::ResultColumns(sqlite3_stmt* statement) : statement_(statement) {
    std::set<std::string> names;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const char* const stated = sqlite3_column_name(statement, i);
        const std::string name = stated == nullptr ? "" : stated;
        std::string unique = name;
        for (int number = 2; !names.insert(unique).second; ++number)
            unique = fmt::format("{}_{}", name, number);
        columns_.emplace_back(unique, declaredType(statement, i));
    }
}

void ResultColumns::addRow() {
    for (int i = 0; i < static_cast<int>(columns_.size()); ++i)
        add(i);
}

void ResultColumns::add(int i) {
    DataColumn& column = columns_[static_cast<std::size_t>(i)];
    const int type = sqlite3_column_type(statement_, i);
    const bool is_text = type == SQLITE_TEXT || type == SQLITE_BLOB;
    const bool nothing_yet = column.nulls() == column.size();
    ColumnType wanted = column.type();
    if (is_text) wanted = ColumnType::Text;
    if (type == SQLITE_FLOAT && column.type() == ColumnType::Int64) wanted = ColumnType::Float64;
    if (nothing_yet && type == SQLITE_INTEGER) wanted = ColumnType::Int64;
    if (nothing_yet && type == SQLITE_FLOAT) wanted = ColumnType::Float64;
    if (wanted != column.type()) column = widened(column, wanted);
    bytes_ += sizeof(std::int64_t);
    switch (type) {
    case SQLITE_NULL: return column.addNull();
    case SQLITE_INTEGER: return column.add(std::int64_t{sqlite3_column_int64(statement_, i)});
    case SQLITE_FLOAT:
        if (column.type() != ColumnType::Text) return column.add(sqlite3_column_double(statement_, i));
        break;
    case SQLITE_BLOB: {
        const void* const blob = sqlite3_column_blob(statement_, i);
        return column.add(std::string_view(hexOf(blob, sqlite3_column_bytes(statement_, i))));
    }
    default: break;
    }
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, i));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, i));
    bytes_ += size;
    column.add(text == nullptr ? std::string_view() : std::string_view(text, size));
}

} // namespace bubblescope::query
