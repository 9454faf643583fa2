#include "core/formats/chrome/text_flaws.h"

#include "core/base/text.h"

#include <algorithm>

namespace bubblescope::chrome {

void TextFlaws::endAt(std::uint64_t offset) {
    for (std::vector<std::uint64_t>* const kind : {&not_utf8, &controls, &backslashes})
        kind->erase(std::ranges::lower_bound(*kind, offset), kind->end());
}

void replaceInvalidBytes(std::string_view text, std::uint64_t offset, char* document, TextFlaws& flaws) {
    if (replaceInvalidUtf8(document, text.size() + 2) == 0) return;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (document[i + 1] != text[i]) flaws.not_utf8.push_back(offset + i);
    }
}

std::vector<std::size_t> hideControls(std::string_view text, char* document) {
    const auto isControl = [&](std::size_t i) { return i < text.size() && static_cast<unsigned char>(text[i]) < ' '; };
    std::vector<std::size_t> hidden;
    bool inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (inside && text[i] == '\\')
            ++i;
        else if (text[i] == '"')
            inside = !inside;
        if (!inside || !isControl(i)) continue;
        hidden.push_back(i);
        document[i + 1] = ' ';
    }
    return hidden;
}

} // namespace bubblescope::chrome
