#pragma once

#include "core/report/document.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace bubblescope::report {

/// Width that text for people keeps to, in characters; a terminal half a screen wide shows it.
inline constexpr std::size_t kTextWidth = 100;

/// How text is laid out for whoever reads it.
struct TextLayout {
    std::size_t width = kTextWidth; ///< that sentences are broken at; tables are as wide as they are
    bool colors = false;            ///< with the codes of kStyles
};

/// The codes by which a terminal shows headings, severities and commands, and the one that ends them.
inline constexpr std::string_view kHeadingStyle = "\x1b[1m";
inline constexpr std::string_view kSeriousStyle = "\x1b[31;1m";
inline constexpr std::string_view kWarningStyle = "\x1b[33;1m";
inline constexpr std::string_view kCommandStyle = "\x1b[36m";
inline constexpr std::string_view kPlainStyle = "\x1b[0m";
inline constexpr std::array kStyles{kHeadingStyle, kSeriousStyle, kWarningStyle, kCommandStyle, kPlainStyle};

/// What a document holds for a terminal. A section without anything to show has no heading either.
[[nodiscard]] std::string toText(const Section& document, const TextLayout& layout = {});

/// A title row, then a line a row; columns are as wide as their widest cell.
[[nodiscard]] std::string toText(const Table& table);

/// Characters of UTF-8 text, not bytes.
[[nodiscard]] std::size_t characters(std::string_view text);

/// `head`, then `text` broken at blanks into lines of at most `width` characters, all but the first indented as far as
/// `head` is long. Ends with a line end.
[[nodiscard]] std::string wrapped(std::string_view head, std::string_view text, std::size_t width = kTextWidth);

} // namespace bubblescope::report
