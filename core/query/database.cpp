#include "core/query/database.h"

#include "core/base/result.h"
#include "core/base/suggestion.h"
#include "core/query/tables.h"
#include "core/report/data_table.h"
#include "core/trace/args.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bubblescope::query {
namespace {

/// Collects the rows of a statement column by column. A column has the type of its values: integers mixed with reals
/// become reals, and a single text turns all values into texts.
class ResultColumns {
public:
    explicit ResultColumns(sqlite3_stmt* statement);

    void addRow();
    [[nodiscard]] std::size_t bytes() const { return bytes_; } ///< approximate memory of the values
    [[nodiscard]] report::DataTable take() { return report::DataTable(std::move(columns_)); }

private:
    void add(int column);

    sqlite3_stmt* statement_;
    std::vector<report::DataColumn> columns_;
    std::size_t bytes_ = 0;
};

using report::ColumnType;
using report::DataColumn;

/// The type of a declared column; numbers if it is computed.
ColumnType declaredType(sqlite3_stmt* statement, int column) {
    const char* const declared = sqlite3_column_decltype(statement, column);
    const std::string_view type = declared == nullptr ? "" : declared;
    return type == "TEXT" ? ColumnType::Text : type == "REAL" ? ColumnType::Float64 : ColumnType::Int64;
}

/// Converts the values to a wider type.
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

std::string_view textOf(sqlite3_value* value) {
    const unsigned char* const text = sqlite3_value_text(value);
    if (text == nullptr) return {};
    return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

struct ArgAnswer {
    sqlite3_context* context;

    void operator()(std::int64_t value) const { sqlite3_result_int64(context, value); }
    void operator()(double value) const { sqlite3_result_double(context, value); }
    void operator()(bool value) const { sqlite3_result_int(context, value ? 1 : 0); }
    void operator()(const std::string& value) const {
        sqlite3_result_text64(context, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
};

/// Perfetto puts "args." and "debug." in front of the names that files have.
void extractArg(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
    try {
        std::string_view key = textOf(values[1]);
        const std::string_view object = textOf(values[0]);
        if (object.empty()) return sqlite3_result_null(context);
        auto found = findJsonArg(object, key);
        for (const std::string_view prefix : {"args.", "debug."}) {
            if (!found && key.starts_with(prefix)) found = findJsonArg(object, key.substr(prefix.size()));
        }
        if (!found) return sqlite3_result_null(context);
        std::visit(ArgAnswer{context}, *found);
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(context);
    }
}

/// The numbers of a group; SQLite keeps a pointer to them from call to call.
struct Numbers {
    std::vector<double> values;
    double percent = 50;
};

Numbers** placeOf(sqlite3_context* context, bool make) {
    return static_cast<Numbers**>(sqlite3_aggregate_context(context, make ? sizeof(Numbers*) : 0));
}

void addNumber(sqlite3_context* context, int count, sqlite3_value** values) {
    const int type = sqlite3_value_numeric_type(values[0]);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return; // skipped, as other aggregates skip NULL
    Numbers** const place = placeOf(context, true);
    if (place == nullptr) return sqlite3_result_error_nomem(context);
    try {
        if (*place == nullptr) *place = std::make_unique<Numbers>().release();
        if (count > 1) (*place)->percent = sqlite3_value_double(values[1]);
        (*place)->values.push_back(sqlite3_value_double(values[0]));
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(context);
    }
}

void answerPercentile(sqlite3_context* context) {
    Numbers** const place = placeOf(context, false);
    if (place == nullptr || *place == nullptr) return sqlite3_result_null(context);
    const std::unique_ptr<Numbers> numbers(*place);
    *place = nullptr;
    std::vector<double>& values = numbers->values;
    if (!(numbers->percent >= 0 && numbers->percent <= 100))
        return sqlite3_result_error(context, "percentile() takes a percentage from 0 to 100", -1);
    const double at = numbers->percent / 100 * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::ptrdiff_t>(std::floor(at));
    std::ranges::nth_element(values, values.begin() + below);
    const double low = values[static_cast<std::size_t>(below)];
    if (at == std::floor(at)) return sqlite3_result_double(context, low);
    const double high = *std::ranges::min_element(values.begin() + below + 1, values.end());
    sqlite3_result_double(context, low + (high - low) * (at - std::floor(at)));
}

/// Adds functions that SQLite does not have but Perfetto's users expect: `extract_arg(args, 'key')`, and the aggregates
/// `percentile(x, percent)` and `median(x)`, which interpolate. False if SQLite rejects them.
bool addFunctions(sqlite3* connection) {
    constexpr int kPure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    const auto aggregate = [&](const char* name, int arguments) {
        return sqlite3_create_function_v2(connection, name, arguments, kPure, nullptr, nullptr, &addNumber,
                                          &answerPercentile, nullptr) == SQLITE_OK;
    };
    return sqlite3_create_function_v2(connection, "extract_arg", 2, kPure, nullptr, &extractArg, nullptr, nullptr,
                                      nullptr) == SQLITE_OK &&
           aggregate("percentile", 2) && aggregate("median", 1);
}

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
    if (!made) throw std::bad_alloc(); // the only possible cause of failure
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
    Error error = writes ? usageError("queries must not change the data", "write a single SELECT statement")
                         : usageError(message, hintFor(message));
    error.where = at == std::string_view::npos ? "query" : "query, " + placeIn(sql, at);
    return error;
}

Result<Database::Statement> Database::prepared(std::string_view sql) {
    constexpr std::size_t kLongest = 1'000'000; // bytes, SQLite's own limit
    if (sql.size() > kLongest || sql.find('\0') != std::string_view::npos)
        return usageError("the query is longer than 1 MB or contains a NUL byte", "write a single SELECT statement");
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
            return runError(fmt::format("the result is larger than {} MiB", limits.result_bytes >> 20U),
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
