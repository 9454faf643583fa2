#include "core/base/bytes.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

namespace bubblescope {
namespace {

struct ByteUnit {
    std::string_view name;
    std::int64_t bytes;
};
constexpr std::int64_t kKi = 1024;
constexpr std::array<ByteUnit, 10> kByteUnits{{{"B", 1},
                                               {"KB", 1'000},
                                               {"kB", 1'000},
                                               {"MB", 1'000'000},
                                               {"GB", 1'000'000'000},
                                               {"TB", 1'000'000'000'000},
                                               {"KiB", kKi},
                                               {"MiB", kKi* kKi},
                                               {"GiB", kKi* kKi* kKi},
                                               {"TiB", kKi* kKi* kKi* kKi}}};
/// Bits, in powers of 1000.
constexpr std::array<ByteUnit, 5> kBitUnits{
    {{"bit", 1}, {"kbit", 1'000}, {"Mbit", 1'000'000}, {"Gbit", 1'000'000'000}, {"Tbit", 1'000'000'000'000}}};

/// Parses "number unit" with a unit of the table, and divides the size by `divisor`. Empty if the result is not an
/// integer or does not fit.
template <class Units>
std::optional<std::int64_t> scaled(std::string_view text, const Units& units, std::int64_t divisor) {
    std::size_t i = 0;
    std::int64_t mantissa = 0;
    std::int64_t fraction = 1; // 10 to the power of the number of decimals
    bool point = false;
    bool digits = false;
    for (; i < text.size(); ++i) {
        if (text[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (!isDigit(text[i])) break;
        if (mantissa > (std::numeric_limits<std::int64_t>::max() - 9) / 10) return std::nullopt;
        mantissa = mantissa * 10 + (text[i] - '0');
        if (point && fraction > 100'000'000'000'000'000) return std::nullopt;
        if (point) fraction *= 10;
        digits = true;
    }
    while (i < text.size() && text[i] == ' ')
        ++i;
    for (const ByteUnit& unit : units) {
        if (!digits || text.substr(i) != unit.name) continue;
        const auto value = static_cast<__int128>(mantissa) * unit.bytes;
        const auto parts = static_cast<__int128>(fraction) * divisor;
        const auto whole = (value + parts / 2) / parts;
        const bool exact = whole * parts == value;
        if ((!exact && unit.bytes == 1) || whole > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
        return static_cast<std::int64_t>(whole);
    }
    return std::nullopt;
}

} // namespace

Result<std::int64_t> parseBytes(std::string_view text) {
    if (const auto bytes = scaled(text, kByteUnits, 1)) return *bytes;
    if (text == "0") return std::int64_t{0};
    if (parseNumber<double>(text))
        return usageError(fmt::format("'{}' is not a size: the unit is missing", text),
                          fmt::format("write {0}GiB, {0}MiB or {0}B", text));
    return usageError(fmt::format("'{}' is not a size", text),
                      "write a number and a unit, such as 80GiB, 24GB, 512MiB or 4096B");
}

Result<std::int64_t> parseBandwidth(std::string_view text) {
    std::optional<std::int64_t> rate;
    if (text.ends_with("/s")) {
        const std::string_view size = text.substr(0, text.size() - 2);
        rate = size.ends_with("bit") ? scaled(size, kBitUnits, 8) : scaled(size, kByteUnits, 1);
    }
    if (rate && *rate > 0) return *rate;
    return usageError(fmt::format("'{}' is not a bandwidth", text),
                      "write a number above 0 and a unit, such as 50GB/s, 25GiB/s or 400Gbit/s");
}

std::string formatBytes(std::int64_t bytes) {
    constexpr std::array<std::string_view, 5> kNames{"KiB", "MiB", "GiB", "TiB", "PiB"};
    auto value = static_cast<double>(bytes);
    if (value < 1024 && value > -1024) return fmt::format("{} B", bytes);
    std::size_t unit = 0;
    for (value /= 1024; (value >= 1023.5 || value <= -1023.5) && unit + 1 < kNames.size(); value /= 1024)
        ++unit;
    return fmt::format("{} {}", formatThreeDigits(value), kNames[unit]);
}

} // namespace bubblescope
