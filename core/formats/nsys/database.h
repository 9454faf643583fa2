#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_value;

namespace bubblescope::nsys {

/// Rows of a table, taken out of SQLite.
class Rows {
public:
    bool damaged = false; ///< nothing after these can be read

    [[nodiscard]] std::size_t count() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
    [[nodiscard]] std::size_t bytes() const { return cells_.size() * sizeof(Cell) + texts_.size(); }

    void clear() {
        damaged = false;
        columns_ = 0;
        cells_.clear();
        texts_.clear();
    }
    /// All of one table have as many values.
    void add(std::span<sqlite3_value*> values);

private:
    friend class Row;
    struct Cell {
        std::int64_t integer = 0;
        std::uint32_t text = 0; ///< where it begins; kNull for NULL
        std::uint32_t size = 0;
    };
    static constexpr std::uint32_t kNull = 0xffffffff;

    std::size_t columns_ = 0;
    std::vector<Cell> cells_; ///< row by row
    std::string texts_;
};

/// One of them, valid while they are. Columns count from 0.
class Row {
public:
    Row(const Rows& rows, std::size_t row) : rows_(rows), cells_(rows.cells_.data() + row * rows.columns_) {}

    [[nodiscard]] bool isNull(std::size_t column) const { return cells_[column].text == Rows::kNull; }
    [[nodiscard]] std::int64_t integer(std::size_t column) const { return cells_[column].integer; } ///< 0 for NULL
    /// Empty for what is a number.
    [[nodiscard]] std::string_view text(std::size_t column) const {
        if (isNull(column)) return {};
        return std::string_view(rows_.texts_).substr(cells_[column].text, cells_[column].size);
    }

private:
    const Rows& rows_;
    const Rows::Cell* cells_;
};

/// An SQLite database that lies in memory (a mapped or unpacked file) and is only read.
class Database {
public:
    /// Nothing if the bytes are no database that SQLite takes; they must outlive this object.
    [[nodiscard]] static std::optional<Database> open(std::string_view bytes);

    /// More than a table can have.
    [[nodiscard]] std::size_t mostRows() const { return most_rows_; }
    [[nodiscard]] bool hasTable(std::string_view table) const { return tables_.contains(table); }
    /// How many rows a table may have: not counted, since that takes a walk over all of its pages.
    [[nodiscard]] std::size_t rowsUpTo(std::string_view table) const;

    enum class End { Whole, Stopped, Damaged };
    /// Returns false to stop.
    using Take = std::function<bool(const Row&)>;
    /// SQLite walks a large table on threads of its own, ahead of `take`, which the calling one calls. Hands over the
    /// rows of a table, none where there is no such table. Tables differ from version to version: a column that this
    /// one lacks reads as NULL. Damaged is also what gives more rows than the file has room for: its pages may name
    /// each other in circles.
    End eachRow(std::string_view table, const std::vector<std::string_view>& columns, const Take& take) const;

private:
    struct Close {
        void operator()(sqlite3* connection) const;
    };
    using Connection = std::unique_ptr<sqlite3, Close>;
    class Walk;
    class Taker;

    explicit Database(std::string_view bytes);
    /// Nothing if SQLite does not take the bytes.
    [[nodiscard]] static Connection connect(std::string_view bytes);
    /// `query` hands its rows to the function take().
    End run(const std::string& query, const Take& take) const;
    /// The largest rowid of a table; 0 where it has none, or no rowids.
    [[nodiscard]] std::int64_t lastRow(std::string_view table) const;

    // A connection serves one thread at a time.
    Connection connection_;
    Connection other_;
    std::size_t most_rows_; ///< that the file has room for
    std::set<std::string, std::less<>> tables_;
};

} // namespace bubblescope::nsys
