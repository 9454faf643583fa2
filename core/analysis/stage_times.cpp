#include "core/analysis/stage_times.h"

#include "core/base/median.h"

#include <array>
#include <utility>

namespace bubblescope {

std::vector<StageTimes> stageTimes(std::span<const StepTimeline> steps) {
    if (steps.empty()) return {};
    const StepTimeline& shape = steps.front();
    const auto chunks = static_cast<std::size_t>(shape.vpp);
    using PerKind = std::array<std::vector<TimeNs>, 4>;
    std::vector<PerKind> durations(static_cast<std::size_t>(shape.pp) * chunks);
    for (const StepTimeline& step : steps) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            for (const TimelineOp& op : step.ranks[r]) {
                if (op.op.kind == OpKind::Optimizer || op.op.overlapped) continue;
                durations[r * chunks + op.op.chunk.index()][static_cast<std::size_t>(op.op.kind)].push_back(
                    op.duration());
            }
        }
        if (&step != &shape) continue;
        for (PerKind& kinds : durations) { // the others mostly have as many of each
            for (auto& of_kind : kinds)
                of_kind.reserve(of_kind.size() * steps.size());
        }
    }
    std::vector<StageTimes> result;
    for (int r = 0; r < shape.pp; ++r) {
        for (int c = 0; c < shape.vpp; ++c) {
            PerKind& kinds = durations[Rank{r}.index() * chunks + Chunk{c}.index()];
            const auto of = [&](OpKind kind) { return median(std::move(kinds[static_cast<std::size_t>(kind)])); };
            StageTimes times{Rank{r}, Chunk{c}, shape.stageOf(Rank{r}, Chunk{c}), {}};
            times.median.forward = of(OpKind::Forward);
            times.median.backward = of(OpKind::Backward);
            times.median.input_grad = of(OpKind::BackwardInput);
            times.median.weight_grad = of(OpKind::BackwardWeight);
            result.push_back(times);
        }
    }
    return result;
}

} // namespace bubblescope
