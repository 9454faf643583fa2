#include "core/base/text.h"

#include "core/base/visible.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace bubblescope {
namespace {

bool allowedInXml(char32_t code) {
    return code >= 0x20 ? code != 0xFFFE && code != 0xFFFF : code == '\t' || code == '\n' || code == '\r';
}

} // namespace

std::string formatThreeDigits(double number) {
    const double size = std::abs(number);
    return fmt::format("{:.{}f}", number, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

std::string formatThousands(double number) {
    constexpr std::array<std::string_view, 5> kSuffixes{"", "k", "M", "G", "T"};
    std::size_t suffix = 0;
    for (; std::abs(number) >= 999.5 && suffix + 1 < kSuffixes.size(); number /= 1000)
        ++suffix;
    return formatThreeDigits(number).append(kSuffixes[suffix]);
}

std::string formatPercent(double fraction, int decimals) {
    const bool over_whole = std::abs(fraction) > 1.0005; // three digits are enough
    return fmt::format("{:.{}f} %", 100 * fraction, over_whole ? 0 : decimals);
}

std::string pluralize(std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

char32_t takeCodePoint(std::string_view& text) {
    constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000}; // by length; a smaller code point is an
                                                                             // overlong form
    const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) {
        text.remove_prefix(1);
        return first;
    }
    const std::size_t length = first >> 5U == 0x6 ? 2 : first >> 4U == 0xE ? 3 : first >> 3U == 0x1E ? 4 : 0;
    char32_t code = length == 0 ? 0 : first & (0xFFU >> (length + 1));
    bool valid = length > 0 && length <= text.size();
    for (std::size_t i = 1; valid && i < length; ++i) {
        valid = byte(i) >> 6U == 0x2;
        code = code << 6U | (byte(i) & 0x3FU);
    }
    valid = valid && code >= kSmallest[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    text.remove_prefix(valid ? length : 1);
    return valid ? code : kReplacementCharacter;
}

std::size_t replaceInvalidUtf8(char* text, std::size_t size) {
    std::size_t replaced = 0;
    for (std::string_view rest(text, size); !rest.empty();) {
        const std::size_t before = rest.size();
        // a valid U+FFFD, which has three bytes
        if (takeCodePoint(rest) != kReplacementCharacter || before - rest.size() != 1) continue;
        text[size - before] = '?';
        ++replaced;
    }
    return replaced;
}

std::string escapeXml(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::string_view before = text;
        const char32_t code = takeCodePoint(text);
        switch (code) {
        case '&': out += "&amp;"; continue;
        case '<': out += "&lt;"; continue;
        case '>': out += "&gt;"; continue;
        case '"': out += "&quot;"; continue;
        case '\'': out += "&apos;"; continue;
        default: break;
        }
        const bool laid_out = code == '\n' || code == '\t' || code == '\r';
        if (code == kReplacementCharacter || !allowedInXml(code)) {
            out += "\xEF\xBF\xBD";
        } else if (!laid_out && isShownAsEscape(code)) {
            out += visible(before.substr(0, before.size() - text.size()));
        } else {
            out += before.substr(0, before.size() - text.size());
        }
    }
    return out;
}

} // namespace bubblescope
