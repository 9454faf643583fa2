#include "core/formats/chrome/decimal.h"

#include "core/base/text.h"

#include <array>
#include <cstddef>
#include <limits>

namespace bubblescope::chrome {
namespace {

constexpr std::uint64_t kMaxMagnitude = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// |number| = digits · 10^exponent
struct Decimal {
    bool negative = false;
    std::uint64_t digits = 0;
    int exponent = 0;
};

std::optional<Decimal> parseDecimal(std::string_view text) {
    Decimal out;
    std::size_t i = 0;
    if (i < text.size() && text[i] == '-') {
        out.negative = true;
        ++i;
    }
    bool any = false;
    bool fraction = false;
    for (; i < text.size(); ++i) {
        if (text[i] == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!isDigit(text[i])) break;
        any = true;
        const auto digit = static_cast<std::uint64_t>(text[i] - '0');
        if (out.digits <= (kMaxMagnitude - digit) / 10) {
            out.digits = out.digits * 10 + digit;
            if (fraction) --out.exponent;
        } else if (!fraction) {
            ++out.exponent; // more digits than fit: below the resolution, or rejected as too large later
        }
    }
    if (!any) return std::nullopt;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        if (i < text.size() && text[i] == '+') ++i;
        const auto exponent = parseNumber<int>(text.substr(i));
        if (!exponent || *exponent > 1000 || *exponent < -1000) return std::nullopt;
        out.exponent += *exponent;
        return out;
    }
    if (i != text.size()) return std::nullopt;
    return out;
}

/// Fast path for most times: digits that fit, at most three of them after the point, and nothing else.
std::optional<TimeNs> plainMicroseconds(std::string_view number) {
    constexpr std::size_t kMostDigits = 15; // a number with three more digits still fits
    if (number.size() > kMostDigits) return std::nullopt;
    std::int64_t value = 0;
    std::size_t digits = 0;
    std::size_t point = number.size();
    for (std::size_t i = 0; i < number.size(); ++i) {
        if (const auto digit = static_cast<unsigned char>(number[i] - '0'); digit <= 9) {
            value = value * 10 + digit;
            ++digits;
        } else if (number[i] == '.' && point == number.size()) {
            point = i;
        } else {
            return std::nullopt;
        }
    }
    const std::size_t behind = point < number.size() ? number.size() - point - 1 : 0;
    constexpr std::array<std::int64_t, 4> kMissing{1000, 100, 10, 1};
    if (digits == 0 || behind >= kMissing.size()) return std::nullopt;
    return TimeNs{value * kMissing[behind]};
}

} // namespace

std::optional<TimeNs> microsecondsToNs(std::string_view number) {
    if (const auto plain = plainMicroseconds(number)) return plain;
    const auto decimal = parseDecimal(number);
    if (!decimal) return std::nullopt;
    std::uint64_t value = decimal->digits;
    int exponent = decimal->exponent + 3;
    for (; exponent > 0 && value != 0; --exponent) {
        if (value > kMaxMagnitude / 10) return std::nullopt;
        value *= 10;
    }
    bool round_up = false;
    for (; exponent < 0 && (value != 0 || round_up); ++exponent) {
        round_up = value % 10 >= 5;
        value /= 10;
    }
    if (round_up) ++value;
    if (value > kMaxMagnitude) return std::nullopt;
    const auto magnitude = static_cast<std::int64_t>(value);
    return TimeNs{decimal->negative ? -magnitude : magnitude};
}

} // namespace bubblescope::chrome
