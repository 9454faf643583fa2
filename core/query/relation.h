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

/// NULL, a number, or a text. What a view refers to lives as long as the relation.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string_view, std::string>;

enum class Affinity : std::uint8_t { Integer, Real, Text };

/// How rows with a given value are found.
enum class Find : std::uint8_t {
    Never,  ///< SQLite compares: the values are made on demand, or are no whole numbers
    Scan,   ///< compared while rows are gone through
    Ranges, ///< Relation::candidates() leaves out ranges of rows
    Index,  ///< a sorted list of the values, made when it is first needed
};

struct Column {
    std::string name;
    Affinity affinity = Affinity::Integer;
    Find find = Find::Scan;
    bool hidden = false; ///< `select *` leaves it out
};

struct RowRange {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// What is asked of a column: a whole number from `low` to `high`, or the text.
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

/// Rows that SQL reads. Column 0 is "id", the number of the row. One thread at a time.
class Relation {
public:
    Relation(std::string name, std::vector<Column> columns) : name_(std::move(name)), columns_(std::move(columns)) {}
    Relation(const Relation&) = delete;
    Relation& operator=(const Relation&) = delete;
    virtual ~Relation() = default;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

    /// Called before rows are read: makes what was not made before.
    [[nodiscard]] virtual Status prepare(const JobControl& /*control*/) { return {}; }
    /// Before prepare() a guess, for the planner.
    [[nodiscard]] virtual std::size_t rows() const = 0;
    [[nodiscard]] virtual Cell cell(std::size_t row, int column) const = 0;
    /// Ascending ranges of `within` that hold all rows which meet the conditions, and others. Conditions that all of
    /// them meet are removed.
    [[nodiscard]] virtual std::vector<RowRange> candidates(RowRange within,
                                                           std::vector<Condition>& /*conditions*/) const {
        return {within};
    }

private:
    std::string name_;
    std::vector<Column> columns_;
};

} // namespace bubblescope::query
