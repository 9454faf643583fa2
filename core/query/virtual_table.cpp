#include "core/query/virtual_table.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <span>

namespace bubblescope::query {

bool Condition::holds(const Cell& cell) const {
    if (const auto* const number = std::get_if<std::int64_t>(&cell))
        return !is_text && *number >= low && *number <= high;
    if (const auto* const view = std::get_if<std::string_view>(&cell)) return is_text ? *view == text : !isPoint();
    if (const auto* const owned = std::get_if<std::string>(&cell)) return is_text ? *owned == text : !isPoint();
    return std::holds_alternative<double>(cell); // SQLite compares it again
}

namespace {

/// A value and its row, sorted by value, then row.
using Entry = std::pair<std::int64_t, std::uint32_t>;

constexpr std::uint32_t kRowsOfCheck = 1U << 12;

struct Table : sqlite3_vtab {
    Table(Relation& of, Session& by) : sqlite3_vtab{}, relation(of), session(by) {}

    [[nodiscard]] Status prepare() const {
        static const JobControl kNothing;
        return relation.prepare(session.control == nullptr ? kNothing : *session.control);
    }
    /// Null if the query was stopped.
    [[nodiscard]] const std::vector<Entry>* indexOf(int column);

    Relation& relation;
    Session& session;
    std::map<int, std::vector<Entry>> indexes;
};

const std::vector<Entry>* Table::indexOf(int column) {
    const auto known = indexes.find(column);
    if (known != indexes.end()) return &known->second;
    std::vector<Entry> entries;
    for (std::size_t row = 0; row < relation.rows(); ++row) {
        if (row % kRowsOfCheck == 0 && session.mustStop()) return nullptr;
        const Cell cell = relation.cell(row, column);
        if (const auto* const value = std::get_if<std::int64_t>(&cell))
            entries.emplace_back(*value, static_cast<std::uint32_t>(row));
    }
    std::ranges::sort(entries);
    return &indexes.emplace(column, std::move(entries)).first->second;
}

/// Rows that meet the conditions of a plan, in order.
class Cursor : public sqlite3_vtab_cursor {
public:
    explicit Cursor(Table& table) : sqlite3_vtab_cursor{}, table_(table) {}

    [[nodiscard]] int start(const char* plan, std::span<sqlite3_value*> values);
    [[nodiscard]] int next() {
        ++at_;
        return settle();
    }
    [[nodiscard]] bool atEnd() const { return end_; }
    [[nodiscard]] std::size_t row() const { return indexed_ ? list_[at_].second : at_; }
    [[nodiscard]] Cell cell(int column) const { return table_.relation.cell(row(), column); }

private:
    [[nodiscard]] bool take(int column, char comparison, sqlite3_value* value);
    [[nodiscard]] bool useIndex();
    [[nodiscard]] int settle();
    [[nodiscard]] bool met() const;

    Table& table_;
    std::vector<Condition> conditions_;
    std::deque<std::string> texts_; ///< texts that the conditions refer to
    std::vector<RowRange> ranges_;
    std::span<const Entry> list_; ///< used instead of ranges
    bool indexed_ = false;
    bool end_ = true;
    std::size_t range_ = 0;
    std::size_t at_ = 0;
    std::uint32_t checked_ = 0;
};

std::int64_t bounded(double value) {
    constexpr double kLimit = 9.2e18;
    return value >= kLimit    ? Condition::kHighest
           : value <= -kLimit ? Condition::kLowest
                              : static_cast<std::int64_t>(value);
}

/// Adds the condition of a comparison with a value, or a weaker one; SQLite checks each row again. False if no row can
/// meet it.
bool Cursor::take(int column, char comparison, sqlite3_value* value) {
    Condition condition;
    condition.column = column;
    const bool is_number = table_.relation.columns()[static_cast<std::size_t>(column)].affinity == Affinity::Integer;
    const int type = is_number ? sqlite3_value_numeric_type(value) : sqlite3_value_type(value);
    if (type == SQLITE_NULL) return false;
    if (is_number && (type == SQLITE_INTEGER || type == SQLITE_FLOAT)) {
        const bool whole = type == SQLITE_INTEGER;
        const double real = whole ? 0 : sqlite3_value_double(value);
        if (comparison != '<') condition.low = whole ? sqlite3_value_int64(value) : bounded(std::floor(real));
        if (comparison != '>') condition.high = whole ? sqlite3_value_int64(value) : bounded(std::ceil(real));
        conditions_.push_back(condition);
    } else if (type == SQLITE_TEXT && comparison == '=') {
        const auto* const text = reinterpret_cast<const char*>(sqlite3_value_text(value));
        if (text == nullptr) throw std::bad_alloc();
        condition.is_text = true;
        condition.text = texts_.emplace_back(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
        conditions_.push_back(condition);
    }
    return true;
}

/// Uses a list of rows instead of ranges if a condition names one value of an indexed column. False if the query was
/// stopped.
bool Cursor::useIndex() {
    const std::vector<Column>& columns = table_.relation.columns();
    const auto best = std::ranges::find_if(conditions_, [&](const Condition& condition) {
        return condition.isPoint() && columns[static_cast<std::size_t>(condition.column)].find == Find::Index;
    });
    if (best == conditions_.end()) return true;
    const std::vector<Entry>* const index = table_.indexOf(best->column);
    if (index == nullptr) return false;
    const auto from = std::ranges::lower_bound(*index, best->low, {}, &Entry::first);
    const auto to = std::ranges::upper_bound(*index, best->low, {}, &Entry::first);
    list_ = std::span<const Entry>(from, to);
    indexed_ = true;
    conditions_.erase(best);
    return true;
}

int Cursor::start(const char* plan, std::span<sqlite3_value*> values) {
    conditions_.clear();
    texts_.clear();
    ranges_.clear();
    list_ = {};
    indexed_ = false;
    end_ = true;
    range_ = at_ = 0;
    if (Status ready = table_.prepare(); !ready.ok()) {
        table_.session.error = std::move(ready).error();
        return SQLITE_ERROR;
    }
    const char* next = plan == nullptr ? "" : plan;
    for (sqlite3_value* const value : values) {
        char* comparison = nullptr;
        const auto column = static_cast<int>(std::strtol(next, &comparison, 10));
        if (!take(column, *comparison, value)) return SQLITE_OK;
        next = comparison + 1;
    }
    end_ = false;
    RowRange within{0, table_.relation.rows()};
    std::erase_if(conditions_, [&](const Condition& condition) {
        if (condition.column != 0 || condition.is_text) return false;
        const auto limited = [&](std::int64_t value) {
            return static_cast<std::size_t>(std::clamp<std::int64_t>(value, 0, static_cast<std::int64_t>(within.end)));
        };
        within.begin = std::max(within.begin, limited(condition.low));
        if (condition.high < static_cast<std::int64_t>(within.end))
            within.end = condition.high < 0 ? 0 : limited(condition.high + 1);
        return true;
    });
    if (within.begin < within.end) {
        if (!useIndex()) return SQLITE_INTERRUPT;
        if (!indexed_) ranges_ = table_.relation.candidates(within, conditions_);
        if (indexed_)
            conditions_.push_back(
                {0, static_cast<std::int64_t>(within.begin), static_cast<std::int64_t>(within.end) - 1});
    }
    if (!indexed_ && !ranges_.empty()) at_ = ranges_.front().begin;
    return settle();
}

bool Cursor::met() const {
    const std::size_t number = row();
    return std::ranges::all_of(conditions_, [&](const Condition& condition) {
        return condition.holds(table_.relation.cell(number, condition.column));
    });
}

/// Advances to the first row that meets the conditions, starting at the current one.
int Cursor::settle() {
    while (true) {
        if (indexed_) {
            if (at_ >= list_.size()) break;
        } else {
            while (range_ < ranges_.size() && at_ >= ranges_[range_].end) {
                if (++range_ < ranges_.size()) at_ = ranges_[range_].begin;
            }
            if (range_ >= ranges_.size()) break;
        }
        if (met()) return SQLITE_OK;
        ++at_;
        if (++checked_ % kRowsOfCheck == 0 && table_.session.mustStop()) return SQLITE_INTERRUPT;
    }
    end_ = true;
    return SQLITE_OK;
}

// ---- Functions for SQLite. Exceptions must not pass through it. ----

template <class Work>
int guarded(const Work& work) {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return SQLITE_NOMEM;
    } catch (...) {
        return SQLITE_ERROR;
    }
}

struct Module {
    Relation& relation;
    Session& session;
};

int connect(sqlite3* connection, void* made_of, int /*argc*/, const char* const* /*argv*/, sqlite3_vtab** out,
            char** /*error*/) {
    return guarded([&] {
        const auto& module = *static_cast<Module*>(made_of);
        std::string declared = "CREATE TABLE x(";
        for (const Column& column : module.relation.columns()) {
            const char* const type = column.affinity == Affinity::Integer ? "INTEGER"
                                     : column.affinity == Affinity::Real  ? "REAL"
                                                                          : "TEXT";
            declared += fmt::format("{}\"{}\" {}{}", declared.back() == '(' ? "" : ", ", column.name, type,
                                    column.hidden ? " HIDDEN" : "");
        }
        if (const int result = sqlite3_declare_vtab(connection, (declared + ")").c_str()); result != SQLITE_OK)
            return result;
        *out = std::make_unique<Table>(module.relation, module.session).release();
        return SQLITE_OK;
    });
}

int disconnect(sqlite3_vtab* table) {
    delete static_cast<Table*>(table);
    return SQLITE_OK;
}

char comparisonOf(unsigned char operation) {
    switch (operation) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return '=';
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE: return '>';
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE: return '<';
    default: return 0;
    }
}

/// The number of rows that match a plan and the cost of finding them, with the precision that a planner needs.
struct Estimate {
    double rows;
    double cost;

    void add(Find find, bool is_id, char comparison) {
        const bool point = comparison == '=';
        if (is_id || (find == Find::Index && point)) {
            rows = point ? (is_id ? 1 : std::min(rows, 8.0)) : rows / 4;
            cost = rows;
        } else if (find == Find::Ranges) {
            rows /= point ? 10 : 4;
            cost /= point ? 10 : 4;
        } else {
            rows /= point ? 20 : 3;
            cost *= 0.7; // cheaper here than in SQLite's virtual machine
        }
    }
};

int bestIndex(sqlite3_vtab* of, sqlite3_index_info* info) {
    return guarded([&] {
        const Relation& relation = static_cast<Table*>(of)->relation;
        const auto rows = static_cast<double>(std::max<std::size_t>(relation.rows(), 1));
        Estimate estimate{rows, rows};
        std::string plan;
        int arguments = 0;
        bool unique = false;
        for (int i = 0; i < info->nConstraint; ++i) {
            const auto& constraint = info->aConstraint[i];
            const char comparison = comparisonOf(constraint.op);
            const int column = std::max(constraint.iColumn, 0); // the rowid is the id
            const Column& asked = relation.columns()[static_cast<std::size_t>(column)];
            const bool ordered = asked.affinity == Affinity::Integer;
            if (constraint.usable == 0 || comparison == 0 || asked.find == Find::Never ||
                (!ordered && comparison != '='))
                continue;
            if (!ordered && std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) continue;
            info->aConstraintUsage[i].argvIndex = ++arguments;
            plan += fmt::format("{}{}", column, comparison);
            estimate.add(asked.find, column == 0, comparison);
            unique = unique || (column == 0 && comparison == '=');
        }
        info->estimatedCost = std::max(estimate.cost, 1.0);
        info->estimatedRows = static_cast<sqlite3_int64>(std::max(estimate.rows, 1.0));
        if (unique) info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->orderByConsumed =
            info->nOrderBy == 1 && info->aOrderBy[0].iColumn <= 0 && info->aOrderBy[0].desc == 0 ? 1 : 0;
        info->idxStr = sqlite3_mprintf("%s", plan.c_str());
        info->needToFreeIdxStr = 1;
        return info->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
    });
}

int open(sqlite3_vtab* table, sqlite3_vtab_cursor** out) {
    return guarded([&] {
        *out = std::make_unique<Cursor>(*static_cast<Table*>(table)).release();
        return SQLITE_OK;
    });
}

int close(sqlite3_vtab_cursor* cursor) {
    delete static_cast<Cursor*>(cursor);
    return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int /*number*/, const char* plan, int count, sqlite3_value** values) {
    return guarded([&] {
        return static_cast<Cursor*>(cursor)->start(plan, {values, static_cast<std::size_t>(count)});
    });
}

int next(sqlite3_vtab_cursor* cursor) {
    return guarded([&] { return static_cast<Cursor*>(cursor)->next(); });
}

int atEnd(sqlite3_vtab_cursor* cursor) {
    return static_cast<Cursor*>(cursor)->atEnd() ? 1 : 0;
}

struct CellAnswer {
    sqlite3_context* context;

    void operator()(std::monostate /*none*/) const { sqlite3_result_null(context); }
    void operator()(std::int64_t value) const { sqlite3_result_int64(context, value); }
    void operator()(double value) const { sqlite3_result_double(context, value); }
    void operator()(std::string_view text) const {
        sqlite3_result_text64(context, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_STATIC,
                              SQLITE_UTF8);
    }
    void operator()(const std::string& text) const {
        sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
};

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int number) {
    return guarded([&] {
        std::visit(CellAnswer{context}, static_cast<Cursor*>(cursor)->cell(number));
        return SQLITE_OK;
    });
}

int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
    *out = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row());
    return SQLITE_OK;
}

const sqlite3_module& callbacks() {
    static const sqlite3_module kModule = [] {
        sqlite3_module module{};
        module.xCreate = connect;
        module.xConnect = connect;
        module.xBestIndex = bestIndex;
        module.xDisconnect = disconnect;
        module.xDestroy = disconnect;
        module.xOpen = open;
        module.xClose = close;
        module.xFilter = filter;
        module.xNext = next;
        module.xEof = atEnd;
        module.xColumn = column;
        module.xRowid = rowid;
        return module;
    }();
    return kModule;
}

} // namespace

bool addTable(sqlite3* connection, Relation& relation, Session& session) {
    auto module = std::make_unique<Module>(Module{relation, session});
    const std::string& name = relation.name();
    // SQLite destroys the module even on failure
    const int made = sqlite3_create_module_v2(connection, name.c_str(), &callbacks(), module.release(),
                                              [](void* of) { delete static_cast<Module*>(of); });
    const std::string create = fmt::format("CREATE VIRTUAL TABLE \"{0}\" USING \"{0}\"", name);
    return made == SQLITE_OK && sqlite3_exec(connection, create.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

} // namespace bubblescope::query
