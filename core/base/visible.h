#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bubblescope {

/// Line ends of a text that is laid out in lines already stay.
enum class LineEnds : std::uint8_t { Shown, Kept };

/// `text` as it may be laid out: names in traces, files and messages come from whoever wrote them. What would begin a
/// line, move the text or stay invisible is shown as an escape: control characters, line ends, tabs, U+2028 and U+2029,
/// changes of direction, and bytes that are not UTF-8 ("\n", "\u202e", "\xff").
[[nodiscard]] std::string visible(std::string_view text, LineEnds ends = LineEnds::Shown);

/// Whether visible() shows an escape for a code point.
[[nodiscard]] bool isShownAsEscape(char32_t code);

} // namespace bubblescope
