#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

namespace bubblescope::chrome {

/// Decimal digits, read eight at a time from text. Eight bytes after the text must be readable.
struct Digits {
    std::uint64_t value = 0;
    int count = 0;
    const char* end = nullptr;

    static constexpr int kMost = 18; ///< numbers with this many digits fit into 63 bits

    /// Parses the digits at `at`. If there are more than kMost, the count exceeds kMost and the value is invalid.
    [[nodiscard]] static Digits at(const char* at) {
        static_assert(std::endian::native == std::endian::little);
        constexpr std::uint64_t kEach = 0x0101010101010101;
        Digits found{0, 0, at};
        while (found.count <= kMost) {
            std::uint64_t bytes = 0;
            std::memcpy(&bytes, found.end, sizeof bytes);
            bytes ^= kEach * '0'; // converts digits to their values
            const std::uint64_t others = ((bytes + kEach * (0x80 - 10)) | bytes) & (kEach * 0x80);
            const int count = others == 0 ? 8 : std::countr_zero(others) / 8;
            if (count == 0) break;
            found.value = found.value * kPowers[static_cast<std::size_t>(count)] + valueOf(bytes << (64 - 8 * count));
            found.count += count;
            found.end += count;
            if (count < 8) break;
        }
        return found;
    }

    static constexpr std::array<std::uint64_t, 9> kPowers{1,       10,        100,        1'000,      10'000,
                                                          100'000, 1'000'000, 10'000'000, 100'000'000};

private:
    /// The value of eight digits, with the first digit in the lowest byte. Combines pairs, then fours, then all.
    [[nodiscard]] static std::uint64_t valueOf(std::uint64_t digits) {
        constexpr std::uint64_t kPair = 0x000000FF000000FF;
        digits = digits * 10 + (digits >> 8U);
        return ((digits & kPair) * 0x000F424000000064 + (digits >> 16U & kPair) * 0x0000271000000001) >> 32U;
    }
};

/// Parses the integer that ends at `end`, if it has a simple form and cannot overflow.
[[nodiscard]] inline std::optional<std::int64_t> plainInteger(const char* begin, const char* end) {
    const bool negative = *begin == '-';
    const Digits digits = Digits::at(begin + (negative ? 1 : 0));
    if (digits.end != end || digits.count == 0 || digits.count > Digits::kMost) return std::nullopt;
    const auto value = static_cast<std::int64_t>(digits.value);
    return negative ? -value : value;
}

/// Parses the number that ends at `end`, in thousandths, if it has at most three decimals. Accepts no sign or exponent.
[[nodiscard]] inline std::optional<std::int64_t> plainThousandths(const char* begin, const char* end) {
    const Digits whole = Digits::at(begin);
    if (whole.count > Digits::kMost - 3) return std::nullopt;
    Digits behind{0, 0, whole.end};
    if (whole.end != end) {
        if (*whole.end != '.') return std::nullopt;
        behind = Digits::at(whole.end + 1);
    }
    if (behind.end != end || behind.count > 3 || whole.count + behind.count == 0) return std::nullopt;
    const std::uint64_t missing = Digits::kPowers[static_cast<std::size_t>(3 - behind.count)];
    return static_cast<std::int64_t>(whole.value * 1'000 + behind.value * missing);
}

} // namespace bubblescope::chrome
