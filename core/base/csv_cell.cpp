#include "core/base/csv_cell.h"

#include "core/base/visible.h"

namespace bubblescope {

std::string csvCell(std::string_view raw) {
    const std::string text = visible(raw);
    std::string cell;
    if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) cell = "'";
    cell += text;
    if (cell.find_first_of(",\"") == std::string::npos) return cell;
    std::string quoted = "\"";
    for (const char c : cell)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

} // namespace bubblescope
