#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace bubblescope::nsys {

/// The rows of a query, one after the other. Columns count from 0.
class Rows {
public:
    explicit Rows(sqlite3_stmt* statement, std::size_t most = 0) : statement_(statement), most_(most) {}

    /// False at the end and where the database is damaged, see failed(). Damaged is also what gives more rows than the
    /// file has room for: its pages may name each other in circles.
    [[nodiscard]] bool next();
    [[nodiscard]] bool failed() const { return failed_; }

    [[nodiscard]] bool isNull(int column) const;
    [[nodiscard]] std::int64_t integer(int column) const; ///< 0 for NULL
    [[nodiscard]] std::string_view text(int column) const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::size_t most_;
    std::size_t count_ = 0;
    bool failed_ = false;
};

/// An SQLite database that lies in memory (a mapped or unpacked file) and is only read.
class Database {
public:
    /// Nothing if the bytes are no database that SQLite takes; they must outlive this object.
    [[nodiscard]] static std::optional<Database> open(std::string_view bytes);

    [[nodiscard]] bool hasTable(std::string_view table) const { return tables_.contains(std::string(table)); }
    /// How many rows a table may have: not counted, since that takes a walk over all of its pages.
    [[nodiscard]] std::size_t rowsUpTo(std::string_view table) const;
    /// All rows of a table. Tables differ from version to version: a column that this one lacks reads as NULL.
    [[nodiscard]] Rows select(std::string_view table, const std::vector<std::string_view>& columns) const;

private:
    struct Close {
        void operator()(sqlite3* connection) const;
    };
    explicit Database(sqlite3* connection) : connection_(connection) {}
    [[nodiscard]] Rows query(const std::string& text) const;

    std::unique_ptr<sqlite3, Close> connection_;
    std::size_t most_rows_ = 0; ///< that the file has room for
    std::set<std::string> tables_;
};

} // namespace bubblescope::nsys
