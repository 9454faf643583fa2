#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope {

/// A repaired JSON value.
struct MendedJson {
    std::string text;      ///< the JSON text on one line
    std::size_t end = 0;   ///< end of the value in the original text
    bool guessed = false;  ///< true if quotes and commas were inserted where they probably belong
    bool unclosed = false; ///< true if the text ends before the end of the value
};

/// Repairs malformed JSON from programs that create it without a library: control characters and backslashes in
/// strings, unescaped quotes, inf and nan, numbers that JSON does not allow, unquoted keys, extra or missing commas,
/// comments. Numbers that JSON does not allow become strings; invalid UTF-8 and unpaired surrogates become the
/// replacement character. Empty if the value cannot be repaired. Linear in the size of the value.
[[nodiscard]] std::optional<MendedJson> mendJson(std::string_view text);

/// Decodes the text between the quotes of a JSON string. If a backslash does not start a JSON escape, or the text
/// contains a Windows path, the writer did not escape backslashes, so all of them are kept.
[[nodiscard]] std::string unescapeLeniently(std::string_view raw);

/// True if the content of a string probably contains a Windows path with unescaped backslashes.
[[nodiscard]] bool holdsWindowsPath(std::string_view raw);

} // namespace bubblescope
