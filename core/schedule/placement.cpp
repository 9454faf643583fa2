#include "core/schedule/placement.h"

namespace bubblescope {
namespace {

// In the V placement every other pass through the ranks runs backwards. Its own inverse.
int column(Placement placement, int pp, int pass, int rank) {
    return placement == Placement::V && pass % 2 == 1 ? pp - 1 - rank : rank;
}

} // namespace

Stage stageOf(Placement placement, int pp, Rank rank, Chunk chunk) {
    return Stage{chunk.value * pp + column(placement, pp, chunk.value, rank.value)};
}

Location locate(Placement placement, int pp, Stage stage) {
    const int pass = stage.value / pp;
    return {Rank{column(placement, pp, pass, stage.value % pp)}, Chunk{pass}};
}

std::string_view placementName(Placement placement) {
    return placement == Placement::Loop ? "loop" : "v";
}

std::optional<Placement> placementFromName(std::string_view name) {
    if (name == "loop") return Placement::Loop;
    if (name == "v") return Placement::V;
    return std::nullopt;
}

} // namespace bubblescope
