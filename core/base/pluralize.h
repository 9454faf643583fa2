#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bubblescope {

/// "1 step", "2 steps": of things whose plural ends in "s".
[[nodiscard]] inline std::string pluralize(std::size_t count, std::string_view thing) {
    return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

} // namespace bubblescope
