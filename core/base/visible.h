#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bubblescope {

/// `Kept` is for text that already contains line breaks.
enum class LineEnds : std::uint8_t { Shown, Kept };

/// Makes `text` safe for display, because names in traces, files and messages are untrusted. Characters that would
/// break the line, change the direction of text or be invisible are replaced with escapes: control characters, line
/// ends, tabs, U+2028 and U+2029, direction marks, and bytes that are not UTF-8 ("\n", "\u202e", "\xff").
[[nodiscard]] std::string visible(std::string_view text, LineEnds ends = LineEnds::Shown);

/// True for a UTF-8 continuation byte: text must not be cut before such a byte.
[[nodiscard]] constexpr bool continuesCodePoint(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// True if visible() replaces this code point with an escape.
[[nodiscard]] bool isShownAsEscape(char32_t code);

} // namespace bubblescope
