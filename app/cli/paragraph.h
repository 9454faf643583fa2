#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bubblescope::cli {

/// How wide text for people may get; a terminal half a screen wide shows it.
inline constexpr std::size_t kTextWidth = 100;

/// Characters of UTF-8 text, not bytes.
[[nodiscard]] std::size_t characters(std::string_view text);

/// `head`, then `text` broken at spaces into lines of at most kTextWidth characters, all but the first indented
/// as far as `head` is long. Ends with a line end.
[[nodiscard]] std::string paragraph(std::string_view head, std::string_view text);

} // namespace bubblescope::cli
