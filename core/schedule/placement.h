#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace bubblescope {

/// Which stages a rank holds. p = pp degree, v = chunks per rank.
enum class Placement : std::uint8_t {
    Loop, ///< stage = chunk·p + rank
    V,    ///< even chunks ascend, odd chunks descend: rank r holds r, 2p−1−r, 2p+r, …
};

struct Location {
    Rank rank;
    Chunk chunk;
    friend constexpr bool operator==(Location, Location) = default;
};

[[nodiscard]] Stage stageOf(Placement placement, int pp, Rank rank, Chunk chunk);
[[nodiscard]] Location locate(Placement placement, int pp, Stage stage);

[[nodiscard]] std::string_view placementName(Placement placement); ///< "loop", "v"
[[nodiscard]] std::optional<Placement> placementFromName(std::string_view name);

} // namespace bubblescope
