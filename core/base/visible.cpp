#include "core/base/visible.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace bubblescope {

bool isShownAsEscape(char32_t code) {
    const auto within = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
    if (code < 0x20 || within(0x7f, 0x9f)) return true;
    const bool turns = code == 0x61c || within(0x200e, 0x200f) || within(0x202a, 0x202e) || within(0x2066, 0x2069);
    const bool unseen = code == 0x200b || code == 0x2060 || code == 0xfeff || within(0xfff9, 0xfffb);
    return turns || unseen || within(0x2028, 0x2029);
}

std::string visible(std::string_view text, LineEnds ends) {
    if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; })) return std::string(text);
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::string_view before = text;
        const char32_t code = takeCodePoint(text);
        const std::string_view bytes = before.substr(0, before.size() - text.size());
        if (code == kReplacementCharacter && bytes.size() == 1) {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(bytes.front()));
        } else if (!isShownAsEscape(code) ||
                   (ends == LineEnds::Kept && (code == '\n' || (code == '\r' && text.starts_with('\n'))))) {
            out += bytes;
        } else if (code == '\n' || code == '\r' || code == '\t') {
            out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
        } else {
            const auto number = static_cast<std::uint32_t>(code);
            out += code < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
        }
    }
    return out;
}

} // namespace bubblescope
