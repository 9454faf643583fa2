#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace bubblescope {

/// An integer id that can only be compared with ids of the same kind, so that a rank cannot be passed as a stage.
/// `value` is public because arithmetic on ids is rare and should be easy to spot.
template <class Tag>
struct Id {
    std::int32_t value = 0;

    constexpr Id() = default;
    constexpr explicit Id(std::int32_t v) : value(v) {}
    constexpr explicit Id(std::size_t v) : value(static_cast<std::int32_t>(v)) {}

    /// The id as an index. The id must not be negative.
    [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

    friend constexpr auto operator<=>(Id, Id) = default;
};

using Rank = Id<struct RankTag>;             ///< position in the pipeline, 0 … p−1
using Stage = Id<struct StageTag>;           ///< global index of a chunk, 0 … p·v−1
using Chunk = Id<struct ChunkTag>;           ///< part of the model on a rank, 0 … v−1
using Microbatch = Id<struct MicrobatchTag>; ///< slice of the global batch, 0 … m−1

} // namespace bubblescope

template <class Tag>
struct std::hash<bubblescope::Id<Tag>> {
    std::size_t operator()(bubblescope::Id<Tag> id) const noexcept { return std::hash<std::int32_t>{}(id.value); }
};
