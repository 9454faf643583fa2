#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace bubblescope {

// ---- Numbers in text -------------------------------------------------------------------------------------

/// Removes the number at the start of `text` and returns it. If there is no number or it does not fit into `Number`,
/// returns an empty optional and leaves `text` unchanged. As with std::from_chars, leading blanks and plus signs are
/// rejected, a minus sign requires a signed type, and '.' is the decimal point in every locale. `format` may be a base
/// (integers) or std::chars_format (floating point).
template <class Number, class... Format>
[[nodiscard]] std::optional<Number> takeNumber(std::string_view& text, Format... format) {
    Number number{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, format...);
    if (parsed.ec != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return number;
}

/// Parses `text` as a number, by the rules of takeNumber(). Returns an empty optional if other characters follow.
template <class Number, class... Format>
[[nodiscard]] std::optional<Number> parseNumber(std::string_view text, Format... format) {
    const std::optional<Number> number = takeNumber<Number>(text, format...);
    return text.empty() ? number : std::nullopt;
}

/// Parses `text` as a non-negative integer.
[[nodiscard]] inline std::optional<int> wholeNumber(std::string_view text) {
    const std::optional<int> number = parseNumber<int>(text);
    return number && *number >= 0 ? number : std::nullopt;
}

/// Independent of the locale.
[[nodiscard]] constexpr bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

/// Returns `text` without leading and trailing blanks.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Converts ASCII letters to lower case, independently of the locale.
[[nodiscard]] constexpr char lowerCase(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] inline std::string lowerCase(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) { return lowerCase(c); });
    return lower;
}

/// Formats a number below 1000 with three significant digits: "1.23", "12.3", "123".
[[nodiscard]] std::string formatThreeDigits(double number);

/// Formats a number with three significant digits and a suffix for thousands: "512", "731k", "1.20M".
[[nodiscard]] std::string formatThousands(double number);

/// Formats a fraction as a percentage: "12.3 %".
[[nodiscard]] std::string formatPercent(double fraction, int decimals = 1);

/// Returns "1 step" or "2 steps"; only for nouns whose plural ends in "s".
[[nodiscard]] std::string pluralize(std::size_t count, std::string_view noun);

// ---- UTF-8 and XML ---------------------------------------------------------------------------------------

/// Replacement for invalid UTF-8.
inline constexpr char32_t kReplacementCharacter = 0xFFFD;

/// Removes one code point from the front of `text`, which must not be empty, and returns it. For invalid UTF-8 (RFC
/// 3629, section 4, including surrogates, overlong forms and values beyond U+10FFFF), removes one byte and returns
/// kReplacementCharacter.
[[nodiscard]] char32_t takeCodePoint(std::string_view& text);

/// Replaces each byte that is not part of valid UTF-8 with '?', so that offsets do not change. Returns the number of
/// replaced bytes.
std::size_t replaceInvalidUtf8(char* text, std::size_t size);

/// Escapes text for use between tags and in quoted attributes of XML and HTML. Characters that XML does not allow
/// (control characters, U+FFFE, U+FFFF) and invalid UTF-8 become U+FFFD.
[[nodiscard]] std::string escapeXml(std::string_view text);

} // namespace bubblescope
