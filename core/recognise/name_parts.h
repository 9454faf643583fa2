#pragma once

#include "core/base/text.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope {

/// Takes the number that `text` begins with off it; nothing (and `text` as it was) if it begins with none.
[[nodiscard]] inline std::optional<std::int64_t> takeNumber(std::string_view& text) {
    std::string_view rest = text;
    const auto number = takeNumber<std::int64_t>(rest);
    if (!number || *number < 0) return std::nullopt;
    text = rest;
    return number;
}

/// Takes `word` off the beginning of `text`; false if it begins otherwise.
[[nodiscard]] inline bool takeWord(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
}

} // namespace bubblescope
