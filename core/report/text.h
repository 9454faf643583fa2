#pragma once

#include "core/report/document.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace bubblescope::report {

/// Default width of text in characters; about half the width of a full-screen terminal.
inline constexpr std::size_t kTextWidth = 100;

/// The layout of text.
struct TextLayout {
    std::size_t width = kTextWidth; ///< width at which sentences are wrapped; tables may be wider
    bool colors = false;            ///< use the escape codes in kStyles
};

/// Escape codes that make a terminal highlight headings, severities and commands, and the code that resets them.
inline constexpr std::string_view kHeadingStyle = "\x1b[1m";
inline constexpr std::string_view kSeriousStyle = "\x1b[31;1m";
inline constexpr std::string_view kWarningStyle = "\x1b[33;1m";
inline constexpr std::string_view kCommandStyle = "\x1b[36m";
inline constexpr std::string_view kPlainStyle = "\x1b[0m";
inline constexpr std::array kStyles{kHeadingStyle, kSeriousStyle, kWarningStyle, kCommandStyle, kPlainStyle};

/// Renders a document for a terminal. The heading of a section without visible content is omitted.
[[nodiscard]] std::string toText(const Section& document, const TextLayout& layout = {});

/// A title row followed by one line per row; columns are as wide as their widest cell.
[[nodiscard]] std::string toText(const Table& table);

/// Number of characters (not bytes) of UTF-8 text.
[[nodiscard]] std::size_t characters(std::string_view text);

/// Returns `text`; if it is longer than `most` characters, it is truncated to this length, including a final "…".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// Returns `head`, followed by `text` wrapped at spaces into lines of at most `width` characters; all lines but the
/// first are indented by the length of `head`. The result ends with a newline.
[[nodiscard]] std::string wrapped(std::string_view head, std::string_view text, std::size_t width = kTextWidth);

} // namespace bubblescope::report
