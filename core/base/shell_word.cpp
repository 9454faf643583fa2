#include "core/base/shell_word.h"

#include <algorithm>

namespace bubblescope {

std::string inQuotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string shellWord(std::string_view word) {
    const auto isPlain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_./-+=:,@%").find(c) != std::string_view::npos;
    };
    if (!word.empty() && std::ranges::all_of(word, isPlain)) return std::string(word);
    return inQuotes(word);
}

std::string shellLine(const std::vector<std::string>& words) {
    std::string line = "bubblescope";
    for (const std::string& word : words)
        line += " " + shellWord(word);
    return line;
}

} // namespace bubblescope
