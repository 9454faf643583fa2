#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_value;

namespace bubblescope::nsys {

/// A row of a table, valid while it is being taken. Columns count from 0.
class Row {
public:
    explicit Row(sqlite3_value** values) : values_(values) {}

    [[nodiscard]] bool isNull(int column) const;
    [[nodiscard]] std::int64_t integer(int column) const; ///< 0 for NULL
    [[nodiscard]] std::string_view text(int column) const;

private:
    sqlite3_value** values_;
};

/// An SQLite database that lies in memory (a mapped or unpacked file) and is only read.
class Database {
public:
    /// Nothing if the bytes are no database that SQLite takes; they must outlive this object.
    [[nodiscard]] static std::optional<Database> open(std::string_view bytes);

    [[nodiscard]] bool hasTable(std::string_view table) const { return tables_.contains(table); }
    /// How many rows a table may have: not counted, since that takes a walk over all of its pages.
    [[nodiscard]] std::size_t rowsUpTo(std::string_view table) const;

    enum class End { Whole, Stopped, Damaged };
    /// Returns false to stop.
    using Take = std::function<bool(const Row&)>;
    /// Hands over the rows of a table, none where there is no such table. Tables differ from version to version: a
    /// column that this one lacks reads as NULL. Damaged is also what gives more rows than the file has room for: its
    /// pages may name each other in circles.
    End eachRow(std::string_view table, const std::vector<std::string_view>& columns, const Take& take) const;

private:
    struct Close {
        void operator()(sqlite3* connection) const;
    };
    struct Taking;

    Database(sqlite3* connection, std::size_t most_rows);
    /// `query` hands its rows to the function take().
    End run(const std::string& query, const Take& take) const;

    std::unique_ptr<sqlite3, Close> connection_;
    std::size_t most_rows_; ///< that the file has room for
    std::set<std::string, std::less<>> tables_;
};

} // namespace bubblescope::nsys
