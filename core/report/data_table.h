#pragma once

#include "core/base/ids.h"
#include "core/base/sentence.h"
#include "core/base/time.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace bubblescope::report {

/// Type of a column in a data table. Arrays have the layout of Apache Arrow and can be passed on unchanged.
enum class ColumnType : std::uint8_t {
    Int32,   ///< numbers of steps, ranks, micro-batches
    Int64,   ///< times in nanoseconds, sizes in bytes, counts
    Float64, ///< shares, rates
    Bool,
    Text, ///< per row, an index into the distinct strings
};

/// The distinct strings of a column, in order of first appearance.
class TextSet {
public:
    /// Returns the index of the string, adding the string if necessary.
    std::int32_t add(std::string_view text);

    [[nodiscard]] std::size_t size() const { return ends_.size() - 1; }
    [[nodiscard]] std::string_view text(std::size_t number) const {
        return std::string_view(bytes_).substr(static_cast<std::size_t>(ends_[number]),
                                               static_cast<std::size_t>(ends_[number + 1] - ends_[number]));
    }
    /// Offset of each string in bytes(), followed by the end of the last string: size() + 1 entries.
    [[nodiscard]] const std::vector<std::int64_t>& offsets() const { return ends_; }
    [[nodiscard]] const std::string& bytes() const { return bytes_; } ///< UTF-8

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };

    std::string bytes_;
    std::vector<std::int64_t> ends_{0};
    std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
    std::int32_t latest_ = -1; ///< index of the string added last; consecutive rows often have the same string
};

/// Bits, starting with the lowest bit of each byte.
class Bits {
public:
    void add(bool bit);
    void append(std::size_t count, bool bit);
    [[nodiscard]] bool at(std::size_t index) const { return (bytes_[index / 8] >> (index % 8) & 1U) != 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

private:
    std::vector<std::uint8_t> bytes_;
    std::size_t size_ = 0;
};

class DataColumn {
public:
    DataColumn(std::string name, ColumnType type);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] ColumnType type() const { return type_; }
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::size_t nulls() const { return nulls_; }
    [[nodiscard]] bool null(std::size_t row) const { return nulls_ > 0 && !valid_.at(row); }

    // The values; only the array for the column's type is filled. Nulls are stored as 0.
    [[nodiscard]] const std::vector<std::int32_t>& int32s() const {
        return int32s_;
    } ///< for Text: indices into texts()
    [[nodiscard]] const std::vector<std::int64_t>& int64s() const { return int64s_; }
    [[nodiscard]] const std::vector<double>& float64s() const { return float64s_; }
    [[nodiscard]] const Bits& bits() const { return bits_; }
    [[nodiscard]] const TextSet& texts() const { return texts_; }
    /// One bit per row if there are nulls; otherwise none.
    [[nodiscard]] const Bits& valid() const { return valid_; }

    void reserve(std::size_t rows);
    /// A value of another type is converted to the column's type, but a string in a column of numbers becomes null.
    void add(std::int64_t value);
    void add(double value); ///< infinities and NaN become null, as in JSON
    void add(bool value);
    void add(std::string_view value);
    void addNull();

private:
    void nowValid();

    std::string name_;
    ColumnType type_;
    std::vector<std::int32_t> int32s_;
    std::vector<std::int64_t> int64s_;
    std::vector<double> float64s_;
    Bits bits_;
    TextSet texts_;
    Bits valid_;
    std::size_t nulls_ = 0;
};

/// A table of results for programs, stored by column, for CSV files, Python and Arrow. Tables of ops have millions of
/// rows with about 50 bytes each. Columns whose names end in _ns are times in nanoseconds.
class DataTable {
public:
    struct Heading {
        std::string_view name;
        ColumnType type;
    };
    DataTable(std::initializer_list<Heading> headings);
    /// The columns must have the same length.
    explicit DataTable(std::vector<DataColumn> columns) : columns_(std::move(columns)) {}

    [[nodiscard]] const std::vector<DataColumn>& columns() const { return columns_; }
    [[nodiscard]] std::size_t rows() const { return columns_.empty() ? 0 : columns_.front().size(); }
    void reserve(std::size_t rows);

    /// Pass one cell per column, in order: numbers, ids, times, strings, sentences, or optionals of these.
    template <class... Cells>
    void row(const Cells&... cells) {
        std::size_t column = 0;
        (put(columns_[column++], cells), ...);
    }

private:
    template <std::integral Number>
    static void put(DataColumn& column, Number value) {
        if constexpr (std::same_as<Number, bool>)
            column.add(value);
        else
            column.add(static_cast<std::int64_t>(value));
    }
    static void put(DataColumn& column, double value) { column.add(value); }
    static void put(DataColumn& column, TimeNs value) { column.add(std::int64_t{value.count()}); }
    static void put(DataColumn& column, std::string_view value) { column.add(value); }
    static void put(DataColumn& column, const std::string& value) { column.add(std::string_view(value)); }
    static void put(DataColumn& column, const char* value) { column.add(std::string_view(value)); }
    static void put(DataColumn& column, const Sentence& value) { column.add(std::string_view(value.text())); }
    static void put(DataColumn& column, std::nullopt_t) { column.addNull(); }
    template <class Tag>
    static void put(DataColumn& column, Id<Tag> value) {
        column.add(std::int64_t{value.value});
    }
    template <class T>
    static void put(DataColumn& column, const std::optional<T>& value) {
        if (value)
            put(column, *value);
        else
            column.addNull();
    }

    std::vector<DataColumn> columns_;
};

/// Writes a table as CSV (RFC 4180 with "\n" line endings): first the column names, then the rows. Lines are written
/// one at a time, because tables of ops have millions of rows. Times are integer nanoseconds, as in JSON; nulls are
/// empty cells, and strings are quoted by csvCell().
void writeCsv(const DataTable& table, const std::function<void(std::string_view)>& sink);

/// Writes a table as a JSON list of objects, one per line.
void writeJsonRows(const DataTable& table, const std::function<void(std::string_view)>& sink);

} // namespace bubblescope::report
