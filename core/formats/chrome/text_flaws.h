#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bubblescope::chrome {

/// What texts hold that JSON does not allow: offsets in the file, those of one kind in order.
struct TextFlaws {
    std::vector<std::uint64_t> not_utf8;    ///< bytes that are '?' now
    std::vector<std::uint64_t> controls;    ///< characters that should be escaped, and are kept
    std::vector<std::uint64_t> backslashes; ///< strings with escapes that there are not, see unescapeLeniently()

    /// Forgets those from there on.
    void endAt(std::uint64_t offset);
};

// `document` holds a text with one letter in front of it and one behind it.

/// Puts '?' in place of bytes that are not UTF-8, and notes where.
void replaceInvalidBytes(std::string_view text, std::uint64_t offset, char* document, TextFlaws& flaws);
/// Puts blanks in place of the control characters in strings, and returns where in the text.
[[nodiscard]] std::vector<std::size_t> hideControls(std::string_view text, char* document);

} // namespace bubblescope::chrome
