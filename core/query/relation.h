#pragma once

#include "core/base/job.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::query {

/// NULL, a number, or a string. The relation owns the memory of string views.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view, std::string>;

enum class Affinity : std::uint8_t { Integer, Real, Text };

/// Methods to find the rows with a given value.
enum class Find : std::uint8_t {
    Never,  ///< SQLite compares the values, because they are computed on demand or are not integers
    Scan,   ///< values are compared while scanning the rows
    Ranges, ///< Relation::candidates() excludes ranges of rows
    Index,  ///< a sorted list of the values is built when it is first needed
};

struct Column {
    std::string name;
    Affinity affinity = Affinity::Integer;
    Find find = Find::Scan;
    bool hidden = false; ///< not included in `select *`
};

struct RowRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// A condition on a column: its value is an integer between `low` and `high`, or equal to `text`.
struct Condition {
    static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
    static constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

    int column = 0;
    std::int64_t low = kLowest;
    std::int64_t high = kHighest;
    bool is_text = false;
    std::string_view text = {};

    [[nodiscard]] bool isPoint() const { return !is_text && low == high; }
    [[nodiscard]] bool holds(const Cell& cell) const;
};

/// A table that SQL queries can read. Column 0 is "id", the row number. Use from one thread at a time.
class Relation {
public:
    Relation(std::string name, std::vector<Column> columns) : name_(std::move(name)), columns_(std::move(columns)) {}
    Relation(const Relation&) = delete;
    Relation& operator=(const Relation&) = delete;
    virtual ~Relation() = default;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

    /// Called before rows are read; computes all data that has not been computed yet.
    [[nodiscard]] virtual Status prepare(const JobControl& /*control*/) { return {}; }
    /// Number of rows; before prepare() is called, an estimate for the query planner.
    [[nodiscard]] virtual std::size_t rows() const = 0;
    [[nodiscard]] virtual Cell cell(std::size_t row, int column) const = 0;
    /// Returns ascending ranges inside `within` that contain all rows that satisfy the conditions, and possibly other
    /// rows. Removes the conditions that all rows in the ranges satisfy.
    [[nodiscard]] virtual std::vector<RowRange> candidates(RowRange within,
                                                           std::vector<Condition>& /*conditions*/) const {
        return {within};
    }

private:
    std::string name_;
    std::vector<Column> columns_;
};

} // namespace bubblescope::query
