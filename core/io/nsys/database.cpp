#include "core/io/nsys/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace bubblescope::nsys {

void Rows::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

bool Rows::next() {
    if (!statement_) return false;
    const int result = sqlite3_step(statement_.get());
    failed_ = (result != SQLITE_ROW && result != SQLITE_DONE) || (result == SQLITE_ROW && ++count_ > most_);
    return result == SQLITE_ROW && !failed_;
}

bool Rows::isNull(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Rows::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Rows::text(int column) const {
    const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
    if (text == nullptr) return {};
    return {reinterpret_cast<const char*>(text),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Database::Close::operator()(sqlite3* connection) const {
    sqlite3_close(connection);
}

std::optional<Database> Database::open(std::string_view bytes) {
    sqlite3* connection = nullptr;
    if (sqlite3_open_v2(":memory:", &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
        sqlite3_close(connection);
        return std::nullopt;
    }
    Database database(connection);
    constexpr std::size_t kSmallestRow = 6; // a cell of four bytes and its place in the page
    database.most_rows_ = bytes.size() / kSmallestRow + 1;
    // Damaged files must not make SQLite follow wild pointers or run code that they bring along.
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    // With READONLY the bytes are not written to.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(connection, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        return std::nullopt;
    Rows names = database.query("SELECT name FROM sqlite_master WHERE type = 'table'");
    while (names.next())
        database.tables_.emplace(names.text(0));
    if (names.failed()) return std::nullopt;
    return database;
}

Rows Database::query(const std::string& text) const {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(connection_.get(), text.c_str(), static_cast<int>(text.size()), &statement, nullptr);
    return Rows(statement, most_rows_);
}

std::size_t Database::rowsUpTo(std::string_view table) const {
    if (!hasTable(table)) return 0;
    Rows first = query(fmt::format("SELECT 1 FROM \"{}\" LIMIT 1", table));
    if (!first.next()) return 0;
    Rows last = query(fmt::format("SELECT max(rowid) FROM \"{}\"", table)); // not all tables have one
    const std::int64_t rows = last.next() ? last.integer(0) : 1;
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)), 1, most_rows_);
}

Rows Database::select(std::string_view table, const std::vector<std::string_view>& columns) const {
    if (!hasTable(table)) return Rows(nullptr);
    std::set<std::string, std::less<>> known;
    Rows info = query(fmt::format("PRAGMA table_info(\"{}\")", table));
    while (info.next())
        known.emplace(info.text(1));
    std::string list;
    for (const std::string_view column : columns) {
        if (!list.empty()) list += ", ";
        list += known.contains(column) ? fmt::format("\"{}\"", column) : "NULL";
    }
    return query(fmt::format("SELECT {} FROM \"{}\"", list, table));
}

} // namespace bubblescope::nsys
