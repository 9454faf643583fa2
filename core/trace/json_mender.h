#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// A damaged JSON value, rewritten as JSON.
struct MendedJson {
    std::string text;      ///< in one line
    std::size_t end = 0;   ///< of the value in the text that was mended
    bool guessed = false;  ///< quotes and commas are where they probably belong
    bool unclosed = false; ///< the text ends before the value does
};

/// Reads a JSON value as programs write it that put JSON together by hand: with control characters and backslashes in
/// strings, quotes that nothing escapes, inf and nan, numbers JSON does not have, keys without quotes, commas too many
/// or too few, comments. Numbers JSON does not have become strings, invalid UTF-8 and halves of surrogate pairs the
/// replacement character. Nothing if it cannot be read like that either. Linear in the value's size.
[[nodiscard]] std::optional<MendedJson> mendJson(std::string_view text);

/// What a JSON string holds between its quotes. If one backslash begins no escape of JSON's, or there is a Windows
/// path, the writer escaped none, and all stay as they are.
[[nodiscard]] std::string unescapeLeniently(std::string_view raw);

/// Whether a string, as it is between its quotes, probably has a Windows path whose backslashes are not escaped.
[[nodiscard]] bool holdsWindowsPath(std::string_view raw);

} // namespace bubblescope
