#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// A repaired JSON value.
struct MendedJson {
    std::string text;      ///< in one line
    std::size_t end = 0;   ///< where the value ends in the original text
    bool guessed = false;  ///< quotes and commas were put where they probably belong
    bool unclosed = false; ///< the text ends before the value does
};

/// Reads the malformed JSON of programs that build JSON by hand: control characters and backslashes in strings,
/// unescaped quotes, inf and nan, numbers that JSON does not allow, unquoted keys, extra or missing commas, comments.
/// Such numbers become strings; invalid UTF-8 and unpaired surrogates become the replacement character. Nothing if the
/// value is still unreadable. Linear in the value's size.
[[nodiscard]] std::optional<MendedJson> mendJson(std::string_view text);

/// Decodes the text between the quotes of a JSON string. If a backslash does not begin a JSON escape, or the text
/// contains a Windows path, the writer did not escape backslashes: they are all kept.
[[nodiscard]] std::string unescapeLeniently(std::string_view raw);

/// True if the text between the quotes of a string probably contains a Windows path with unescaped backslashes.
[[nodiscard]] bool holdsWindowsPath(std::string_view raw);

} // namespace bubblescope
