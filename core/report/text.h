#pragma once

#include "core/report/document.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace bubblescope::report {

/// Default width of text, in characters; about half of a full-screen terminal.
inline constexpr std::size_t kTextWidth = 100;

/// The layout of text.
struct TextLayout {
    std::size_t width = kTextWidth; ///< sentences are wrapped at this width; tables keep their own
    bool colors = false;            ///< with the codes of kStyles
};

/// The codes with which a terminal shows headings, severities and commands, and the code that resets them.
inline constexpr std::string_view kHeadingStyle = "\x1b[1m";
inline constexpr std::string_view kSeriousStyle = "\x1b[31;1m";
inline constexpr std::string_view kWarningStyle = "\x1b[33;1m";
inline constexpr std::string_view kCommandStyle = "\x1b[36m";
inline constexpr std::string_view kPlainStyle = "\x1b[0m";
inline constexpr std::array kStyles{kHeadingStyle, kSeriousStyle, kWarningStyle, kCommandStyle, kPlainStyle};

/// Renders a document for a terminal. A section without visible content has no heading either.
[[nodiscard]] std::string toText(const Section& document, const TextLayout& layout = {});

/// A title row, then one line per row; columns are as wide as their widest cell.
[[nodiscard]] std::string toText(const Table& table);

/// Characters of UTF-8 text, not bytes.
[[nodiscard]] std::size_t characters(std::string_view text);

/// `text`, or if it is longer than `most` characters, its beginning with "…" as the last of them.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// `head`, then `text` wrapped at blanks into lines of at most `width` characters, all but the first indented by the
/// length of `head`. Ends with a line end.
[[nodiscard]] std::string wrapped(std::string_view head, std::string_view text, std::size_t width = kTextWidth);

} // namespace bubblescope::report
