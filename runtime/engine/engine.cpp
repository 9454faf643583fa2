#include "runtime/engine/engine.h"

#include "runtime/engine/rank_loop.h"
#include "runtime/engine/rank_threads.h"

#include <deque>
#include <utility>

namespace bubblescope::runtime {

Result<EngineResult> runEngine(const EngineConfig& config, const EngineParts& parts, JobControl& control) {
    RunState state(config, parts, control);
    control.total = static_cast<std::uint64_t>(config.steps) * state.opsOfStep(config.schedule);
    std::deque<RankLoop> loops;
    for (std::size_t local = 0; local < parts.ranks.size(); ++local)
        loops.emplace_back(state, local);
    runRankThreads(parts.ranks, [&loops](std::size_t local) { loops[local].run(); });
    if (std::optional<Error> error = parts.ranks.front()->error()) return std::move(*error);

    EngineResult result;
    result.losses = std::move(state.losses);
    result.losses.resize(static_cast<std::size_t>(state.steps * state.plan.updates()));
    result.stages = std::move(state.stages);
    for (const RankLoop& loop : loops) {
        result.memory.push_back(loop.counts().memory);
        result.ops += loop.counts().ops;
        result.late_ops += loop.counts().late_ops;
        result.max_lateness = std::max(result.max_lateness, loop.counts().max_lateness);
    }
    return result;
}

} // namespace bubblescope::runtime
