#include "core/schedule/stage_ways.h"

#include "core/schedule/schedule.h"

namespace bubblescope {

StageWays::StageWays(Placement placement, int pp, int vpp, int copies)
    : placement_(placement), stages_(stageCount(placement, pp, vpp)), apart_(routes(placement)) {
    if (copies > 1) cut_ = pp / copies;
}

bool StageWays::copiesFit(Placement placement, int pp, int vpp, int copies) {
    if (copies == 1) return true;
    return copies > 1 && placement == Placement::Bidirectional && vpp == 2 && pp % copies == 0;
}

StageWays StageWays::of(const Schedule& schedule) {
    const auto& [name, flavor, pp, microbatches, vpp, placement, ranks] = schedule;
    if (routes(placement) == 1 || vpp != 2) return {placement, pp, vpp, 1};
    const auto stages = static_cast<std::size_t>(pp * vpp);
    std::vector<char> taken(stages * static_cast<std::size_t>(microbatches), 0);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (const Op& op : ranks[r]) {
            if (op.kind == OpKind::Optimizer || op.microbatch.value < 0 || op.microbatch.value >= microbatches ||
                op.chunk.value < 0 || op.chunk.value >= vpp)
                continue;
            taken[op.microbatch.index() * stages + schedule.stageOf(Rank{r}, op.chunk).index()] = 1;
        }
    }
    return {placement, pp, vpp, secondCopies(placement, pp, vpp, microbatches, [&](Microbatch m, Stage stage) {
                return taken[m.index() * stages + stage.index()] != 0;
            })};
}

std::vector<StageWays::Way> StageWays::all() const {
    std::vector<Way> ways;
    const int places = stages_ / apart_;
    for (int route = 0; route < apart_; ++route) {
        const int count = route == 1 && cut_ > 0 ? cut_ : places;
        for (int place = 0; place < places; place += count)
            ways.push_back({place * apart_ + route, count});
    }
    return ways;
}

} // namespace bubblescope
