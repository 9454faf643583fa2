#include "core/io/nsys/database.h"

#include "core/base/made_ahead.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <exception>

namespace bubblescope::nsys {

void Rows::add(std::span<sqlite3_value*> values) {
    columns_ = values.size();
    for (sqlite3_value* const value : values) {
        Cell cell;
        switch (sqlite3_value_type(value)) {
        case SQLITE_NULL: cell.text = kNull; break;
        case SQLITE_TEXT:
        case SQLITE_BLOB: {
            cell.integer = sqlite3_value_int64(value); // some exporters write numbers as texts
            const unsigned char* const text = sqlite3_value_text(value);
            const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
            if (text == nullptr || texts_.size() + size >= kNull) break;
            cell.text = static_cast<std::uint32_t>(texts_.size());
            cell.size = static_cast<std::uint32_t>(size);
            texts_.append(reinterpret_cast<const char*>(text), size);
            break;
        }
        default: cell.integer = sqlite3_value_int64(value);
        }
        cells_.push_back(cell);
    }
}

/// A query under way. Its rows are taken by an aggregate function, which SQLite calls from within its loop: that costs
/// about half of stepping from row to row and asking for each column.
class Database::Walk {
public:
    Walk(sqlite3* connection, std::size_t most, BatchQueue<Rows>& out)
        : connection_(connection), most_(most), out_(out) {}

    /// False if the query failed.
    bool run(const std::string& query) {
        sqlite3_create_function_v2(connection_, "take", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, this, nullptr, &Walk::row,
                                   &Walk::end, nullptr);
        sqlite3_stmt* statement = nullptr;
        int result =
            sqlite3_prepare_v2(connection_, query.c_str(), static_cast<int>(query.size()), &statement, nullptr);
        if (result == SQLITE_OK) result = sqlite3_step(statement);
        sqlite3_finalize(statement);
        if (thrown_) std::rethrow_exception(thrown_);
        if (rows_.count() > 0) (void)out_.put(rows_);
        return result == SQLITE_ROW || result == SQLITE_DONE;
    }

private:
    static constexpr std::size_t kBatchBytes = std::size_t{1} << 18; // stays in a core's cache

    static void row(sqlite3_context* context, int count, sqlite3_value** values) {
        auto& self = *static_cast<Walk*>(sqlite3_user_data(context));
        if (++self.taken_ > self.most_) return sqlite3_result_error_code(context, SQLITE_CORRUPT);
        bool wanted = true;
        try {
            self.rows_.add({values, static_cast<std::size_t>(count)});
            if (self.rows_.bytes() >= kBatchBytes) {
                wanted = self.out_.put(self.rows_);
                self.rows_.clear();
            }
        } catch (...) { // must not pass through SQLite
            self.thrown_ = std::current_exception();
        }
        if (!wanted || self.thrown_) sqlite3_result_error_code(context, SQLITE_ABORT);
    }
    static void end(sqlite3_context*) {}

    sqlite3* connection_;
    std::size_t most_;
    BatchQueue<Rows>& out_;
    Rows rows_;
    std::size_t taken_ = 0;
    std::exception_ptr thrown_;
};

void Database::Close::operator()(sqlite3* connection) const {
    sqlite3_close(connection);
}

Database::Database(sqlite3* connection, std::size_t most_rows) : connection_(connection), most_rows_(most_rows) {}

std::optional<Database> Database::open(std::string_view bytes) {
    sqlite3* connection = nullptr;
    if (sqlite3_open_v2(":memory:", &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
        sqlite3_close(connection);
        return std::nullopt;
    }
    constexpr std::size_t kSmallestRow = 6; // a cell of four bytes and its place in the page
    Database database(connection, bytes.size() / kSmallestRow + 1);
    // Damaged files must not make SQLite follow wild pointers or run code that they bring along.
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    // With READONLY the bytes are not written to.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(connection, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        return std::nullopt;
    const End end = database.run("SELECT take(name) FROM sqlite_master WHERE type = 'table'", [&](const Row& row) {
        database.tables_.emplace(row.text(0));
        return true;
    });
    if (end == End::Damaged) return std::nullopt;
    return database;
}

Database::End Database::run(const std::string& query, const Take& take) const {
    bool whole = false;
    bool stopped = false;
    const auto walk = [&](BatchQueue<Rows>& out) { whole = Walk(connection_.get(), most_rows_, out).run(query); };
    const auto use = [&](const Rows& rows) {
        for (std::size_t i = 0; i < rows.count() && !stopped; ++i)
            stopped = !take(Row(rows, i));
        return !stopped;
    };
    madeAhead<Rows>(walk, use);
    if (stopped) return End::Stopped;
    return whole ? End::Whole : End::Damaged;
}

std::size_t Database::rowsUpTo(std::string_view table) const {
    if (!hasTable(table)) return 0;
    bool any = false;
    run(fmt::format("SELECT take(1) FROM (SELECT 1 FROM \"{}\" LIMIT 1)", table),
        [&any](const Row&) { return any = true; });
    if (!any) return 0;
    std::int64_t rows = 1;
    run(fmt::format("SELECT take(last) FROM (SELECT max(rowid) AS last FROM \"{}\")", table), // not all have one
        [&rows](const Row& row) {
            rows = row.integer(0);
            return true;
        });
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)), 1, most_rows_);
}

Database::End Database::eachRow(std::string_view table, const std::vector<std::string_view>& columns,
                                const Take& take) const {
    if (!hasTable(table)) return End::Whole;
    std::set<std::string, std::less<>> known;
    run(fmt::format("SELECT take(name) FROM pragma_table_info('{}')", table), [&known](const Row& row) {
        known.emplace(row.text(0));
        return true;
    });
    std::string list;
    for (const std::string_view column : columns) {
        if (!list.empty()) list += ", ";
        list += known.contains(column) ? fmt::format("\"{}\"", column) : "NULL";
    }
    return run(fmt::format("SELECT take({}) FROM \"{}\"", list, table), take);
}

} // namespace bubblescope::nsys
