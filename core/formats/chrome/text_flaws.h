#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bubblescope::chrome {

/// Flaws that JSON does not allow in text: their file offsets, in order, per kind.
struct TextFlaws {
    std::vector<std::uint64_t> not_utf8;    ///< bytes that were replaced by '?'
    std::vector<std::uint64_t> controls;    ///< unescaped control characters, which are kept
    std::vector<std::uint64_t> backslashes; ///< strings with invalid escapes, see unescapeLeniently()

    /// Discards the flaws from `offset` on.
    void endAt(std::uint64_t offset);
};

// `document` contains the text, with one additional character before it and one after it.

/// Replaces bytes that are not UTF-8 with '?', and records their offsets.
void replaceInvalidBytes(std::string_view text, std::uint64_t offset, char* document, TextFlaws& flaws);
/// Replaces control characters in strings with blanks, and returns their offsets in the text.
[[nodiscard]] std::vector<std::size_t> hideControls(std::string_view text, char* document);

} // namespace bubblescope::chrome
