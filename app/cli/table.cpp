#include "app/cli/table.h"

#include "app/cli/paragraph.h"

#include <algorithm>

namespace bubblescope::cli {

std::string Table::text(std::size_t indent) const {
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::size_t width = characters(columns_[c].title);
        for (const auto& row : rows_)
            width = std::max(width, characters(row[c]));
        widths.push_back(width);
    }
    std::string out;
    const auto line = [&](const auto& cell) {
        std::string text(indent, ' ');
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            const std::string pad(widths[c] - characters(cell(c)), ' ');
            if (c > 0) text += "  ";
            text += columns_[c].align == Align::Right ? pad + cell(c) : cell(c) + pad;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    };
    line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
    for (const auto& row : rows_)
        line([&](std::size_t c) -> const std::string& { return row[c]; });
    return out;
}

} // namespace bubblescope::cli
