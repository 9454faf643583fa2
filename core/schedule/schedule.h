#pragma once

#include "core/base/ids.h"
#include "core/schedule/op.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Assignment of stages to ranks. p = pipeline-parallel degree, v = chunks per rank.
enum class Placement : std::uint8_t {
    Loop, ///< stage = chunk·p + rank
    V,    ///< even chunks ascend, odd chunks descend: rank r has stages r, 2p−1−r, 2p+r, …
    /// Two pipelines over the same ranks, the second from the last rank to the first, with separate weights. Even
    /// chunks belong to the first pipeline and odd chunks to the second; each pipeline is placed as a V. Stage numbers
    /// of the pipelines alternate: stage = 2·(place in its pipeline) + (0 for the first, 1 for the second).
    Bidirectional,
};

/// Number of pipelines that share the ranks. The numbers of neighbouring stages in a pipeline differ by this number.
[[nodiscard]] constexpr int routes(Placement placement) {
    return placement == Placement::Bidirectional ? 2 : 1;
}

struct Location {
    Rank rank;
    Chunk chunk;
    friend constexpr bool operator==(Location, Location) = default;
};

[[nodiscard]] Stage stageOf(Placement placement, int pp, Rank rank, Chunk chunk);
[[nodiscard]] Location locate(Placement placement, int pp, Stage stage);

[[nodiscard]] std::string_view placementName(Placement placement); ///< "loop", "v", "bidirectional"
[[nodiscard]] std::optional<Placement> placementFromName(std::string_view name);

/// The order in which each rank executes its ops in one step, without times. May be invalid, for example if it is from
/// a file: see validate().
struct Schedule {
    std::string name;     ///< name of the family in the registry; "custom" if the order belongs to none
    std::string flavor;   ///< author or program that defined the order; empty if the family has only one order
    int pp = 1;           ///< p, number of pipeline ranks
    int microbatches = 1; ///< m
    int vpp = 1;          ///< v, number of chunks per rank
    Placement placement = Placement::Loop;
    std::vector<std::vector<Op>> ranks; ///< one list per rank in execution order; the size is pp

    [[nodiscard]] int stages() const { return pp * vpp; }
    [[nodiscard]] Stage stageOf(Rank rank, Chunk chunk) const {
        return bubblescope::stageOf(placement, pp, rank, chunk);
    }
    [[nodiscard]] std::size_t opCount() const;
};

/// Display name of an order: "interleaved (megatron)".
[[nodiscard]] std::string orderName(std::string_view family, std::string_view flavor);
[[nodiscard]] std::string orderName(const Schedule& schedule);
/// Sizes as text, such as "p = 4, m = 8, v = 2".
[[nodiscard]] std::string sizesText(int pp, int microbatches, int vpp);
[[nodiscard]] std::string sizesText(const Schedule& schedule);
/// Name and sizes: "interleaved (megatron), p = 4, m = 8, v = 2".
[[nodiscard]] std::string scheduleTitle(const Schedule& schedule);

} // namespace bubblescope
