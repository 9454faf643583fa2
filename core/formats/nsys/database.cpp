#include "core/formats/nsys/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>

namespace bubblescope::nsys {
namespace {

constexpr std::size_t kSmallestRow = 6;     // a cell of four bytes and its place in the page
constexpr std::int64_t kRowsOfPiece = 1024; // rows; of the widest table they stay in a core's cache

} // namespace

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

/// Queries under way on one connection. Rows are taken by an aggregate function, which SQLite calls from within its
/// loop: that costs about half of stepping from row to row and asking for each column.
class Database::Walk {
public:
    Walk(sqlite3* connection, std::size_t most, BatchQueue<Rows>& out)
        : connection_(connection), most_(most), out_(out) {
        sqlite3_create_function_v2(connection_, "take", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, this, nullptr, &Walk::row,
                                   &Walk::end, nullptr);
    }

    /// All rows, in batches of some size.
    void run(const std::string& query) {
        Statement statement = prepared(query);
        rows_.damaged = !statement || !step(statement.get());
        (void)out_.put(rows_);
    }

    /// Every `stride`-th piece of a table, from the one numbered `first`; each is one batch. `query` takes a piece's
    /// first and last rowid.
    void runPieces(const std::string& query, std::int64_t last_row, std::int64_t first, std::int64_t stride) {
        one_batch_ = true;
        const Statement statement = prepared(query);
        for (std::int64_t begin = first * kRowsOfPiece; begin <= last_row; begin += stride * kRowsOfPiece) {
            const bool is_last = begin + kRowsOfPiece > last_row;
            rows_.clear();
            if (statement) {
                sqlite3_reset(statement.get());
                sqlite3_bind_int64(statement.get(), 1, begin == 0 ? std::numeric_limits<std::int64_t>::min() : begin);
                sqlite3_bind_int64(statement.get(), 2,
                                   is_last ? std::numeric_limits<std::int64_t>::max() : begin + kRowsOfPiece - 1);
            }
            rows_.damaged = !statement || !step(statement.get());
            const bool damaged = rows_.damaged;
            if (!out_.put(rows_) || damaged) return;
        }
    }

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;
    static constexpr std::size_t kBatchBytes = std::size_t{1} << 18; // stays in a core's cache

    [[nodiscard]] Statement prepared(const std::string& query) const {
        sqlite3_stmt* statement = nullptr;
        sqlite3_prepare_v2(connection_, query.c_str(), static_cast<int>(query.size()), &statement, nullptr);
        return Statement(statement);
    }

    [[nodiscard]] bool step(sqlite3_stmt* statement) {
        const int result = sqlite3_step(statement);
        if (thrown_) std::rethrow_exception(thrown_);
        return result == SQLITE_ROW || result == SQLITE_DONE;
    }

    static void row(sqlite3_context* context, int count, sqlite3_value** values) {
        auto& self = *static_cast<Walk*>(sqlite3_user_data(context));
        if (++self.taken_ > self.most_) return sqlite3_result_error_code(context, SQLITE_CORRUPT);
        bool wanted = true;
        try {
            self.rows_.add({values, static_cast<std::size_t>(count)});
            if (!self.one_batch_ && self.rows_.bytes() >= kBatchBytes) {
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
    bool one_batch_ = false;
    Rows rows_;
    std::size_t taken_ = 0;
    std::exception_ptr thrown_;
};

void Database::Close::operator()(sqlite3* connection) const {
    sqlite3_close(connection);
}

Database::Database(std::string_view bytes)
    : connection_(connect(bytes)), other_(connection_ ? connect(bytes) : nullptr),
      most_rows_(bytes.size() / kSmallestRow + 1) {}

Database::Connection Database::connect(std::string_view bytes) {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    Connection connection(opened);
    if (result != SQLITE_OK) return nullptr;
    // Damaged files must not make SQLite follow wild pointers or run code that they bring along.
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    // With READONLY the bytes are not written to.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(opened, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) return nullptr;
    return connection;
}

std::optional<Database> Database::open(std::string_view bytes) {
    Database database(bytes);
    if (!database.connection_ || !database.other_) return std::nullopt;
    const End end = database.run("SELECT take(name) FROM sqlite_master WHERE type = 'table'", [&](const Row& row) {
        database.tables_.emplace(row.text(0));
        return true;
    });
    if (end == End::Damaged) return std::nullopt;
    return database;
}

/// Uses up batches; remembers how that ended.
class Database::Taker {
public:
    explicit Taker(const Take& take) : take_(take) {}

    bool operator()(const Rows& rows) {
        for (std::size_t i = 0; i < rows.count() && end_ == End::Whole; ++i) {
            if (!take_(Row(rows, i))) end_ = End::Stopped;
        }
        if (end_ == End::Whole && rows.damaged) end_ = End::Damaged;
        return end_ == End::Whole;
    }
    [[nodiscard]] End end() const { return end_; }

private:
    const Take& take_;
    End end_ = End::Whole;
};

Database::End Database::run(const std::string& query, const Take& take) const {
    Taker taker(take);
    BatchQueue<Rows> at_once(std::ref(taker));
    Walk(connection_.get(), most_rows_, at_once).run(query);
    return taker.end();
}

std::int64_t Database::lastRow(std::string_view table) const {
    std::int64_t last = 0;
    run(fmt::format("SELECT take(last) FROM (SELECT max(rowid) AS last FROM \"{}\")", table), // not all have one
        [&last](const Row& row) {
            last = row.integer(0);
            return true;
        });
    return last;
}

std::size_t Database::rowsUpTo(std::string_view table) const {
    if (!hasTable(table)) return 0;
    bool any = false;
    run(fmt::format("SELECT take(1) FROM (SELECT 1 FROM \"{}\" LIMIT 1)", table),
        [&any](const Row&) { return any = true; });
    if (!any) return 0;
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(lastRow(table), 1)), 1, most_rows_);
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
    const std::string all = fmt::format("SELECT take({}) FROM \"{}\"", list, table);
    // Pieces of a large table are walked side by side, where rows are numbered about from one on.
    const std::int64_t last = known.contains("rowid") ? 0 : lastRow(table);
    if (last < 4 * kRowsOfPiece || static_cast<std::size_t>(last) > most_rows_) return run(all, take);
    const std::string pieces = all + " WHERE rowid BETWEEN ?1 AND ?2";
    std::vector<std::function<void(BatchQueue<Rows>&)>> walks;
    for (sqlite3* const connection : {connection_.get(), other_.get()}) {
        const auto turn = static_cast<std::int64_t>(walks.size());
        walks.emplace_back([&, connection, turn](BatchQueue<Rows>& out) {
            Walk(connection, most_rows_, out).runPieces(pieces, last, turn, 2);
        });
    }
    Taker taker(take);
    prefetched<Rows>(walks, std::ref(taker));
    return taker.end();
}

} // namespace bubblescope::nsys
