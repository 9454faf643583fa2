#include "core/formats/sqlite/database.h"

#include "core/base/parallel.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <limits>

namespace bubblescope::sqlite {
namespace {

constexpr std::size_t kSmallestRow = 6;     // a cell of four bytes and its entry in the page
constexpr std::int64_t kRowsOfPiece = 1024; // rows; those of the widest table fit into a core's cache

} // namespace

void Rows::add(std::span<sqlite3_value*> values) {
    columns_ = values.size();
    for (sqlite3_value* const value : values) {
        Cell cell;
        switch (sqlite3_value_type(value)) {
        case SQLITE_NULL: cell.text = kNull; break;
        case SQLITE_TEXT:
        case SQLITE_BLOB: {
            cell.integer = sqlite3_value_int64(value); // some exporters write numbers as text
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

/// A query in progress on one connection, which has one at a time. An aggregate function takes the rows, called by
/// SQLite from within its loop; that takes half the time of stepping from row to row and fetching each column.
class Database::Walk {
public:
    /// More rows than `max_rows` count as damage.
    Walk(sqlite3* connection, const std::string& query, std::size_t max_rows)
        : connection_(connection), max_rows_(max_rows) {
        sqlite3_create_function_v2(connection_, "take", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, this, nullptr, &Walk::row,
                                   &Walk::end, nullptr);
        statement_ = prepared(query);
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

    /// Passes all rows to `use`, in batches, until it returns false.
    template <class Use>
    void eachBatch(const Use& use) {
        Rows rows;
        rows_ = &rows;
        use_ = use;
        rows.damaged = !step();
        (void)use(rows);
    }

    /// Replaces `rows` by those of one piece of the table. The query's parameters are the piece's first and last rowid.
    void piece(std::int64_t begin, std::int64_t last_row, Rows& rows) {
        const bool is_last = begin + kRowsOfPiece > last_row;
        rows.clear();
        rows_ = &rows;
        if (statement_) {
            sqlite3_reset(statement_.get());
            sqlite3_bind_int64(statement_.get(), 1, begin == 0 ? std::numeric_limits<std::int64_t>::min() : begin);
            sqlite3_bind_int64(statement_.get(), 2,
                               is_last ? std::numeric_limits<std::int64_t>::max() : begin + kRowsOfPiece - 1);
        }
        rows.damaged = !step();
    }

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;
    static constexpr int kInstructionsOfCheck = 10'000'000; // instructions of SQLite's virtual machine, about a second
    static constexpr std::size_t kBatchBytes = std::size_t{1} << 18; // stays in a core's cache

    [[nodiscard]] Statement prepared(const std::string& query) const {
        sqlite3_stmt* statement = nullptr;
        sqlite3_prepare_v2(connection_, query.c_str(), static_cast<int>(query.size()), &statement, nullptr);
        return Statement(statement);
    }

    [[nodiscard]] bool step() {
        if (!statement_) return false;
        // Computed columns may be programs that run for a very long time per row. Counts a row's instructions, not its
        // time.
        rows_at_check_ = taken_;
        sqlite3_progress_handler(connection_, kInstructionsOfCheck, &Walk::check, this);
        const int result = sqlite3_step(statement_.get());
        sqlite3_progress_handler(connection_, 0, nullptr, nullptr);
        if (thrown_) std::rethrow_exception(thrown_);
        return result == SQLITE_ROW || result == SQLITE_DONE;
    }

    static void row(sqlite3_context* context, int count, sqlite3_value** values) {
        auto& self = *static_cast<Walk*>(sqlite3_user_data(context));
        if (++self.taken_ > self.max_rows_) return sqlite3_result_error_code(context, SQLITE_CORRUPT);
        bool wanted = true;
        try {
            self.rows_->add({values, static_cast<std::size_t>(count)});
            if (self.use_ && self.rows_->bytes() >= kBatchBytes) {
                wanted = self.use_(*self.rows_);
                self.rows_->clear();
            }
        } catch (...) { // exceptions must not pass through SQLite
            self.thrown_ = std::current_exception();
        }
        if (!wanted || self.thrown_) sqlite3_result_error_code(context, SQLITE_ABORT);
    }
    static void end(sqlite3_context*) {}

    /// A nonzero result ends the query, because no row has arrived since the last check.
    static int check(void* walk) {
        auto& self = *static_cast<Walk*>(walk);
        const bool stuck = self.taken_ == self.rows_at_check_;
        self.rows_at_check_ = self.taken_;
        return stuck ? 1 : 0;
    }

    sqlite3* connection_;
    Statement statement_;
    std::size_t max_rows_;
    Rows* rows_ = nullptr;                 ///< destination of rows
    std::function<bool(const Rows&)> use_; ///< set if batches are used while the query runs
    std::size_t taken_ = 0;
    std::size_t rows_at_check_ = 0;
    std::exception_ptr thrown_;
};

void Database::Close::operator()(sqlite3* connection) const {
    sqlite3_close(connection);
}

Database::Database(std::string_view bytes)
    : connection_(connect(bytes)), other_(connection_ ? connect(bytes) : nullptr),
      max_rows_(bytes.size() / kSmallestRow + 1) {}

Database::Connection Database::connect(std::string_view bytes) {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    Connection connection(opened);
    if (result != SQLITE_OK) return nullptr;
    // Damaged files must not make SQLite follow invalid pointers or run code that they contain.
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_drop_modules(opened, nullptr); // virtual tables run code and read files
    // No value is larger than the file, unless the file computes it.
    constexpr std::size_t kShortest = std::size_t{1} << 16;
    constexpr std::size_t kLongest = std::size_t{1} << 30;
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, static_cast<int>(std::clamp(bytes.size(), kShortest, kLongest)));
    sqlite3_limit(opened, SQLITE_LIMIT_EXPR_DEPTH, 50);
    sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 0);
    // With READONLY the bytes are not modified.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    if (sqlite3_deserialize(opened, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) return nullptr;
    return connection;
}

std::optional<Database> Database::open(std::string_view bytes) {
    Database database(bytes);
    if (!database.connection_ || !database.other_) return std::nullopt;
    // Pragmas that list tables resolve views, which takes exponential time if each view refers twice to another one.
    const auto add = [&database](const Row& row) {
        if (row.text(1) != "table" && row.text(1) != "view") return true;
        const bool is_stored = row.text(1) == "table" && row.integer(2) > 0; // others have no page
        (is_stored ? database.tables_ : database.computed_).emplace(row.text(0));
        return true;
    };
    const End end = database.run("SELECT take(name, type, rootpage) FROM sqlite_schema", add);
    if (end == End::Damaged) return std::nullopt;
    return database;
}

/// Consumes batches and remembers how that ended.
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
    Walk(connection_.get(), query, max_rows_).eachBatch(std::ref(taker));
    return taker.end();
}

std::int64_t Database::lastRow(std::string_view table) const {
    std::int64_t last = 0;
    run(fmt::format("SELECT take(last) FROM (SELECT max(rowid) AS last FROM \"{}\")", table), // not all have rowids
        [&last](const Row& row) {
            last = row.integer(0);
            return true;
        });
    return last;
}

std::size_t Database::maxRowsOf(std::string_view table) const {
    if (!hasTable(table)) return 0;
    bool any = false;
    run(fmt::format("SELECT take(1) FROM (SELECT 1 FROM \"{}\" LIMIT 1)", table),
        [&any](const Row&) { return any = true; });
    if (!any) return 0;
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(lastRow(table), 1)), 1, max_rows_);
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
    // Pieces of a large table are read in parallel if its rowids start at about one.
    const std::int64_t last = known.contains("rowid") ? 0 : lastRow(table);
    if (last < 4 * kRowsOfPiece || static_cast<std::size_t>(last) > max_rows_) return run(all, take);
    const std::string pieces = all + " WHERE rowid BETWEEN ?1 AND ?2";
    constexpr std::int64_t kWalks = 2;
    std::deque<Walk> walks;
    std::vector<BatchMaker<Rows>> makers;
    for (sqlite3* const connection : {connection_.get(), other_.get()}) {
        Walk& walk = walks.emplace_back(connection, pieces, max_rows_);
        // Takes every second piece, until one is damaged.
        makers.emplace_back(
            [&walk, last, begin = static_cast<std::int64_t>(makers.size()) * kRowsOfPiece](Rows& rows) mutable {
                if (begin > last) return false;
                walk.piece(begin, last, rows);
                begin = rows.damaged ? last + 1 : begin + kWalks * kRowsOfPiece;
                return true;
            });
    }
    Taker taker(take);
    prefetched<Rows>(makers, std::ref(taker));
    return taker.end();
}

} // namespace bubblescope::sqlite
