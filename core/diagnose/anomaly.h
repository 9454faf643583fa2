#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

enum class Severity : std::uint8_t { Notice, Warning, Serious };

[[nodiscard]] std::string_view severityName(Severity severity); ///< "notice", "warning", "serious"

/// Something a user should look at, with the numbers that say so.
struct Anomaly {
    std::string kind; ///< stable slug: "slow-stage"
    Severity severity = Severity::Notice;
    std::optional<Rank> rank;
    std::optional<int> step;                              ///< none when it concerns all steps
    std::vector<std::pair<std::string, double>> evidence; ///< times end in _ns
    std::string message;                                  ///< what is the matter and what to do about it
};

} // namespace bubblescope
