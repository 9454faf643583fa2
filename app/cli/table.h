#pragma once

#include <string>
#include <vector>

namespace bubblescope::cli {

/// A text table whose columns are as wide as their widest cell, counted in characters, not bytes.
class Table {
public:
    enum class Align { Left, Right };
    struct Column {
        std::string title;
        Align align = Align::Right;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// Title row, then one line per row; `indent` spaces in front.
    [[nodiscard]] std::string text(std::size_t indent = 2) const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

inline constexpr auto kLeft = Table::Align::Left;
/// Of a list, as text; --json has all.
inline constexpr std::size_t kMostRows = 20;

} // namespace bubblescope::cli
