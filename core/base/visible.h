#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bubblescope {

/// `Kept` is for text that is already laid out in lines.
enum class LineEnds : std::uint8_t { Shown, Kept };

/// `text` made safe for display, because names in traces, files and messages are untrusted. Characters that would break
/// the line, move the text or be invisible are shown as escapes: control characters, line ends, tabs, U+2028 and
/// U+2029, changes of direction, and bytes that are not UTF-8 ("\n", "\u202e", "\xff").
[[nodiscard]] std::string visible(std::string_view text, LineEnds ends = LineEnds::Shown);

/// True if a byte of UTF-8 continues a code point: text must not be cut before it.
[[nodiscard]] constexpr bool continuesCodePoint(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// True if visible() shows an escape for the code point.
[[nodiscard]] bool isShownAsEscape(char32_t code);

} // namespace bubblescope
