#pragma once

#include "core/report/document.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace bubblescope::report {

/// Width that text for people keeps to, in characters; a terminal half a screen wide shows it.
inline constexpr std::size_t kTextWidth = 100;

/// What a document holds for a terminal. A section without anything to show has no heading either.
[[nodiscard]] std::string toText(const Section& document);

/// A title row, then a line a row; columns are as wide as their widest cell.
[[nodiscard]] std::string toText(const Table& table);

/// Characters of UTF-8 text, not bytes.
[[nodiscard]] std::size_t characters(std::string_view text);

/// `head`, then `text` broken at blanks into lines of at most kTextWidth characters, all but the first indented as far
/// as `head` is long. Ends with a line end.
[[nodiscard]] std::string wrapped(std::string_view head, std::string_view text);

} // namespace bubblescope::report
