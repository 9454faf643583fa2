#pragma once

#include "core/base/time.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace bubblescope::chrome {

inline void appendNumber(std::int64_t number, std::string& out) {
    const fmt::format_int digits(number);
    out.append(digits.data(), digits.size());
}

/// Appends a time in the format of trace events: microseconds with three decimals.
inline void appendMicroseconds(TimeNs time, std::string& out) {
    constexpr std::int64_t kNsPerUs = 1000;
    std::int64_t ns = time.count();
    if (ns < 0) {
        out += '-';
        ns = -ns;
    }
    appendNumber(ns / kNsPerUs, out);
    const std::int64_t below = ns % kNsPerUs;
    const char decimals[] = {'.', static_cast<char>('0' + below / 100), static_cast<char>('0' + below / 10 % 10),
                             static_cast<char>('0' + below % 10)};
    out.append(decimals, sizeof decimals);
}

[[nodiscard]] inline std::string microseconds(TimeNs time) {
    std::string text;
    appendMicroseconds(time, text);
    return text;
}

} // namespace bubblescope::chrome
