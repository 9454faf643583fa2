#include "core/query/database.h"

#include "core/base/suggestion.h"
#include "core/base/text.h"
#include "core/query/functions.h"
#include "core/query/result_columns.h"
#include "core/query/tables.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <new>

namespace bubblescope::query {
namespace {

constexpr int kInstructionsOfCheck = 10'000; // instructions of SQLite's virtual machine, about a millisecond

/// Views with the names of Perfetto's tables, and lists of columns and functions.
constexpr const char* kViews =
    "CREATE VIEW process AS SELECT DISTINCT file, rank, pid, process AS name FROM track;"
    "CREATE VIEW thread AS SELECT DISTINCT file, rank, pid, process, tid, thread AS name FROM track "
    "WHERE type = 'slice';"
    // These must exist before SQLite's authorizer forbids creating them.
    "SELECT 1 FROM pragma_table_info('slice'), pragma_table_xinfo('slice'), pragma_function_list LIMIT 1";

constexpr std::array kAnalysed{"op", "transfer", "bubble", "accounting", "finding", "step"};

/// The position of a byte in a text: "line 2, column 7".
std::string placeIn(std::string_view sql, std::size_t offset) {
    const std::string_view before = sql.substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t begin = before.find_last_of('\n');
    return fmt::format("line {}, column {}", line, offset - (begin == std::string_view::npos ? 0 : begin + 1) + 1);
}

std::vector<std::unique_ptr<Relation>> allTables(const Subject& subject) {
    std::vector<std::unique_ptr<Relation>> tables = traceTables(subject);
    std::ranges::move(runTables(subject), std::back_inserter(tables));
    return tables;
}

} // namespace

void Database::Close::operator()(sqlite3* connection) const {
    sqlite3_close_v2(connection);
}
void Database::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

Database::Database(const Subject& subject) : tables_(allTables(subject)) {
    connect();
}
Database::~Database() = default;

void Database::connect() {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    connection_.reset(opened);
    if (result != SQLITE_OK) throw std::bad_alloc();
    constexpr int kLongestValue = 1 << 28;
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kLongestValue);
    sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_exec(opened, "PRAGMA cache_size = -262144", nullptr, nullptr, nullptr); // KiB; sorts stay in memory
    bool made = addFunctions(opened);
    for (const std::unique_ptr<Relation>& table : tables_)
        made = made && addTable(opened, *table, session_);
    made = made && sqlite3_exec(opened, kViews, nullptr, nullptr, nullptr) == SQLITE_OK;
    if (!made) throw std::bad_alloc(); // the only possible failure
    sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_set_authorizer(opened, &Database::mayDo, this);
    sqlite3_progress_handler(
        opened, kInstructionsOfCheck,
        [](void* session) { return static_cast<const Session*>(session)->mustStop() ? 1 : 0; }, &session_);
}

int Database::mayDo(void* database, int action, const char* first, const char* second, const char* /*schema*/,
                    const char* /*view*/) {
    auto& self = *static_cast<Database*>(database);
    const std::string_view name = first == nullptr ? "" : first;
    const std::string_view function = second == nullptr ? "" : second;
    switch (action) {
    case SQLITE_READ: self.read_.emplace(name); return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        if (function != "load_extension") return SQLITE_OK;
        break;
    case SQLITE_PRAGMA:
        if (name == "table_info" || name == "table_xinfo" || name == "function_list") return SQLITE_OK;
        break;
    default: break;
    }
    self.denied_ = true;
    return SQLITE_DENY;
}

/// The table or column that a user probably meant by a name that does not exist.
std::string Database::hintFor(std::string_view message) const {
    std::vector<std::string> names;
    std::string list;
    const bool of_tables = message.starts_with("no such table: ");
    if (!of_tables && !message.starts_with("no such column: ")) return {};
    for (const std::unique_ptr<Relation>& table : tables_) {
        if (of_tables) {
            list += fmt::format("{}{}", list.empty() ? "" : ", ", table->name());
            names.push_back(table->name());
            continue;
        }
        if (!read_.empty() && !read_.contains(table->name())) continue;
        for (const Column& column : table->columns())
            names.push_back(column.name);
    }
    std::string_view word = message.substr(message.find(": ") + 2);
    if (const std::size_t dot = word.find_last_of('.'); dot != std::string_view::npos) word = word.substr(dot + 1);
    const std::string closest = closestName(word, names);
    if (!closest.empty()) return fmt::format("did you mean '{}'?", closest);
    return of_tables ? fmt::format("the tables are {}", list) : std::string();
}

Error Database::errorOf(std::string_view sql, int offset) const {
    const std::string message = sqlite3_errmsg(connection_.get());
    constexpr std::string_view kNoTable = "no such table: ";
    auto at = offset < 0 ? std::string_view::npos : static_cast<std::size_t>(offset);
    // SQLite reports no offset for a missing table.
    if (message.starts_with(kNoTable)) at = sql.find(std::string_view(message).substr(kNoTable.size()));
    const bool writes = denied_ || message.ends_with("may not be modified");
    Error error = writes ? usageError("a query may only read", "write a single SELECT statement")
                         : usageError(message, hintFor(message));
    error.where = at == std::string_view::npos ? "query" : "query, " + placeIn(sql, at);
    return error;
}

Result<Database::Statement> Database::prepared(std::string_view sql) {
    constexpr std::size_t kLongest = 1'000'000; // bytes, SQLite's own limit
    if (sql.size() > kLongest || sql.find('\0') != std::string_view::npos)
        return usageError("the query is longer than 1 MB or contains a zero byte", "write a single SELECT statement");
    read_.clear();
    denied_ = false;
    sqlite3_stmt* made = nullptr;
    const char* rest = nullptr;
    const int result = sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &made, &rest);
    Statement statement(made);
    if (result != SQLITE_OK) {
#if SQLITE_VERSION_NUMBER >= 3038000
        return errorOf(sql, sqlite3_error_offset(connection_.get()));
#else
        return errorOf(sql, -1);
#endif
    }
    if (statement == nullptr) return usageError("the query is empty", "write a SELECT statement");
    if (sqlite3_stmt_readonly(made) == 0 || sqlite3_column_count(made) == 0) {
        denied_ = true;
        return errorOf(sql, -1);
    }
    sqlite3_stmt* second = nullptr;
    const auto used = static_cast<std::size_t>(rest - sql.data());
    const std::set<std::string> read = read_;
    const int more = sqlite3_prepare_v2(connection_.get(), rest, static_cast<int>(sql.size() - used), &second, nullptr);
    const Statement next(second);
    read_ = read;
    if (more != SQLITE_OK || next != nullptr) {
        Error error = usageError("more than one statement", "write a single SELECT statement");
        error.where = "query, " + placeIn(sql, used);
        return error;
    }
    return statement;
}

Result<std::set<std::string>> Database::tablesOf(std::string_view sql) {
    BUBBLESCOPE_ASSIGN(const Statement statement, prepared(sql));
    return read_;
}

Result<report::DataTable> Database::run(std::string_view sql, const JobControl& control, const QueryLimits& limits) {
    session_.control = &control;
    session_.error.reset();
    session_.deadline.reset();
    if (limits.time) session_.deadline = std::chrono::steady_clock::now() + *limits.time;
    Result<Statement> statement = prepared(sql);
    Result<report::DataTable> rows =
        statement.ok() ? rowsOf(statement.value().get(), sql, limits) : Result<report::DataTable>(statement.error());
    session_.control = nullptr;
    if (rows.ok()) return rows;
    if (control.stop.stop_requested()) return cancelledError();
    if (session_.error) return *session_.error;
    if (session_.deadline && std::chrono::steady_clock::now() >= *session_.deadline)
        return runError(fmt::format("the query took longer than {}", formatTime(*limits.time)),
                        "narrow the query by ts, track or name, or allow more time");
    return rows;
}

Result<report::DataTable> Database::rowsOf(sqlite3_stmt* statement, std::string_view sql, const QueryLimits& limits) {
    ResultColumns columns(statement);
    while (true) {
        const int result = sqlite3_step(statement);
        if (result == SQLITE_DONE) return columns.take();
        if (result != SQLITE_ROW) return errorOf(sql, -1);
        columns.addRow();
        if (columns.bytes() > limits.result_bytes)
            return runError(fmt::format("the result takes more than {} MiB", limits.result_bytes >> 20U),
                            "select fewer columns, or fewer rows with LIMIT");
    }
}

Result<std::set<std::string>> tablesRead(std::string_view sql) {
    static const Run kNothing;
    Database database({kNothing, nullptr, nullptr});
    return database.tablesOf(sql);
}

bool needsAnalysis(const std::string& table) {
    return std::ranges::find(kAnalysed, table) != kAnalysed.end();
}

} // namespace bubblescope::query
