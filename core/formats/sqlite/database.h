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

namespace bubblescope::sqlite {

/// Rows of a table, copied out of SQLite.
class Rows {
public:
    bool damaged = false; ///< true if nothing after these rows can be read

    [[nodiscard]] std::size_t count() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
    [[nodiscard]] std::size_t bytes() const { return cells_.size() * sizeof(Cell) + texts_.size(); }

    void clear() {
        damaged = false;
        columns_ = 0;
        cells_.clear();
        texts_.clear();
    }
    /// All rows of one table have the same number of values.
    void add(std::span<sqlite3_value*> values);

private:
    friend class Row;
    struct Cell {
        std::int64_t integer = 0;
        std::uint32_t text = 0; ///< offset of the text's start; kNull for NULL
        std::uint32_t size = 0;
    };
    static constexpr std::uint32_t kNull = 0xffffffff;

    std::size_t columns_ = 0;
    std::vector<Cell> cells_; ///< row by row
    std::string texts_;
};

/// A row, valid as long as its Rows object exists. Columns are numbered from 0.
class Row {
public:
    Row(const Rows& rows, std::size_t row) : rows_(rows), cells_(rows.cells_.data() + row * rows.columns_) {}

    [[nodiscard]] bool isNull(std::size_t column) const { return cells_[column].text == Rows::kNull; }
    [[nodiscard]] std::int64_t integer(std::size_t column) const { return cells_[column].integer; } ///< 0 for NULL
    /// The text in a column; empty for a number.
    [[nodiscard]] std::string_view text(std::size_t column) const {
        if (isNull(column)) return {};
        return std::string_view(rows_.texts_).substr(cells_[column].text, cells_[column].size);
    }

private:
    const Rows& rows_;
    const Rows::Cell* cells_;
};

/// An SQLite database in memory (a mapped or decompressed file), read-only.
class Database {
public:
    /// None if SQLite rejects the bytes. The bytes must outlive this object.
    [[nodiscard]] static std::optional<Database> open(std::string_view bytes);

    /// Upper bound for the number of rows in any table.
    [[nodiscard]] std::size_t maxRows() const { return max_rows_; }
    [[nodiscard]] bool hasTable(std::string_view table) const { return tables_.contains(table); }
    /// The tables whose names start with `begin`.
    [[nodiscard]] std::vector<std::string> tablesFrom(std::string_view begin) const {
        std::vector<std::string> found;
        for (auto table = tables_.lower_bound(begin); table != tables_.end() && table->starts_with(begin); ++table)
            found.push_back(*table);
        return found;
    }
    /// True for a view or a virtual table. Views contain code, which is not run; hasTable() returns false for both.
    [[nodiscard]] bool isComputed(std::string_view table) const { return computed_.contains(table); }
    /// Upper bound for the number of rows in a table. Counting the rows would require reading all pages.
    [[nodiscard]] std::size_t maxRowsOf(std::string_view table) const;

    enum class End { Whole, Stopped, Damaged };
    /// Returns false to stop.
    using Take = std::function<bool(const Row&)>;
    /// Passes the rows of a table to `take` on the calling thread; none if there is no such table. SQLite reads large
    /// tables on other threads, ahead of `take`. Tables differ between versions, so a missing column is read as NULL. A
    /// table with more rows than the file has space for is treated as corrupt, because its pages may form cycles.
    End eachRow(std::string_view table, const std::vector<std::string_view>& columns, const Take& take) const;

private:
    struct Close {
        void operator()(sqlite3* connection) const;
    };
    using Connection = std::unique_ptr<sqlite3, Close>;
    class Walk;
    class Taker;

    explicit Database(std::string_view bytes);
    /// Null if SQLite rejects the bytes.
    [[nodiscard]] static Connection connect(std::string_view bytes);
    /// `query` must pass its rows to the SQL function take().
    End run(const std::string& query, const Take& take) const;
    /// The largest rowid of a table; 0 if it is empty or has no rowids.
    [[nodiscard]] std::int64_t lastRow(std::string_view table) const;

    // A connection serves one thread at a time.
    Connection connection_;
    Connection other_;
    std::size_t max_rows_; ///< upper bound, based on the size of the file
    std::set<std::string, std::less<>> tables_;
    std::set<std::string, std::less<>> computed_;
};

} // namespace bubblescope::sqlite
