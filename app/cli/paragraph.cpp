#include "app/cli/paragraph.h"

#include <algorithm>

namespace bubblescope::cli {

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string paragraph(std::string_view head, std::string_view text) {
    const std::size_t indent = characters(head);
    std::string out(head);
    std::size_t column = indent;
    bool begun = false; // the line holds a word
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        const std::size_t length = characters(word);
        if (begun && column + 1 + length > kTextWidth) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
            begun = false;
        }
        if (begun) out += ' ';
        out += word;
        column += length + (begun ? 1 : 0);
        begun = true;
    }
    return out + "\n";
}

} // namespace bubblescope::cli
