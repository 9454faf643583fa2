#include "core/schedule/schedule.h"

namespace bubblescope {
namespace {

/// The place of a rank in one pass of a route through the ranks. It is its own inverse.
int column(Placement placement, int pp, int route, int pass, int rank) {
    const bool turned = placement != Placement::Loop && pass % 2 == 1; // V: every other pass runs backwards
    return turned != (route == 1) ? pp - 1 - rank : rank;
}

} // namespace

Stage stageOf(Placement placement, int pp, Rank rank, Chunk chunk) {
    const int route = chunk.value % routes(placement);
    const int pass = chunk.value / routes(placement);
    return Stage{(pass * pp + column(placement, pp, route, pass, rank.value)) * routes(placement) + route};
}

Location locate(Placement placement, int pp, Stage stage) {
    const int route = stage.value % routes(placement);
    const int place = stage.value / routes(placement);
    const int pass = place / pp;
    return {Rank{column(placement, pp, route, pass, place % pp)}, Chunk{pass * routes(placement) + route}};
}

std::string_view placementName(Placement placement) {
    switch (placement) {
    case Placement::Loop: return "loop";
    case Placement::V: return "v";
    case Placement::Bidirectional: return "bidirectional";
    }
    return "";
}

std::optional<Placement> placementFromName(std::string_view name) {
    if (name == "loop") return Placement::Loop;
    if (name == "v") return Placement::V;
    if (name == "bidirectional") return Placement::Bidirectional;
    return std::nullopt;
}

std::size_t Schedule::opCount() const {
    std::size_t count = 0;
    for (const auto& ops : ranks)
        count += ops.size();
    return count;
}

} // namespace bubblescope
