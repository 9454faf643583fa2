#include "core/base/time.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <array>
#include <limits>

namespace bubblescope {
namespace {

struct TimeUnit {
    std::string_view name;
    std::int64_t ns;
};
constexpr std::array<TimeUnit, 6> kTimeUnits{{{"ns", 1},
                                              {"us", 1'000},
                                              {"\u00b5s", 1'000}, // the micro sign
                                              {"\u03bcs", 1'000}, // the Greek letter
                                              {"ms", 1'000'000},
                                              {"s", 1'000'000'000}}};

Error badTime(std::string_view text, std::string_view why) {
    return usageError(fmt::format("'{}' is not a time: {}", text, why),
                      "write a number and a unit, such as 1.5ms, 800us, 20ns or 2s");
}

} // namespace

/// Also accepts blanks around the number and its unit, and the micro sign for "u".
Result<TimeNs> parseTime(std::string_view given) {
    const std::string_view text = trimmed(given, " ");
    std::size_t i = 0;
    std::int64_t mantissa = 0;
    int decimals = 0;
    int digits = 0;
    bool point = false;
    for (; i < text.size() && (isDigit(text[i]) || (text[i] == '.' && !point)); ++i) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        if (mantissa > (std::numeric_limits<std::int64_t>::max() - 9) / 10) return badTime(text, "too many digits");
        mantissa = mantissa * 10 + (text[i] - '0');
        decimals += point ? 1 : 0;
        ++digits;
    }
    if (digits == 0) return badTime(text, "it does not start with a number");
    const std::string_view suffix = trimmed(text.substr(i), " ");
    if (suffix.empty()) {
        if (mantissa == 0) return TimeNs{0};
        return badTime(text, "the unit is missing: ns, us, ms or s");
    }
    for (const TimeUnit& unit : kTimeUnits) {
        if (suffix != unit.name) continue;
        std::int64_t scale = unit.ns;
        for (; decimals > 0 && scale >= 10; --decimals)
            scale /= 10;
        for (; decimals > 0; --decimals) {
            if (mantissa % 10 != 0) return badTime(text, "finer than a nanosecond");
            mantissa /= 10;
        }
        if (mantissa > std::numeric_limits<std::int64_t>::max() / scale) return badTime(text, "too large");
        return TimeNs{mantissa * scale};
    }
    return badTime(text, fmt::format("unknown unit '{}'", suffix));
}

std::string formatTime(TimeNs time) {
    const std::int64_t ns = time.count();
    const double magnitude = ns < 0 ? -static_cast<double>(ns) : static_cast<double>(ns);
    if (magnitude < 1e3) return fmt::format("{} ns", ns);
    // 999.96 us would be printed as "1000 us": a value that rounds up to the next unit is printed in that unit.
    constexpr double kRoundsUp = 999.5;
    const auto in = [&](double unit, std::string_view name) {
        return fmt::format("{} {}", formatThreeDigits(static_cast<double>(ns) / unit), name);
    };
    return magnitude < kRoundsUp * 1e3 ? in(1e3, "us") : magnitude < kRoundsUp * 1e6 ? in(1e6, "ms") : in(1e9, "s");
}

std::string formatTimeDelta(TimeNs time) {
    return (time.count() > 0 ? "+" : "") + formatTime(time);
}

} // namespace bubblescope
