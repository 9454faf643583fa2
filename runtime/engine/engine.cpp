#include "runtime/engine/engine.h"

#include "core/schedule/weight_versions.h"
#include "runtime/engine/rank_loop.h"
#include "runtime/engine/rank_threads.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace bubblescope::runtime {
namespace {

std::uint64_t opsOfRun(const EngineConfig& config, const EngineParts& parts, const RunMesh& mesh) {
    std::size_t ops = 0;
    for (const Transport* const transport : parts.ranks) {
        const std::vector<Op>& list = config.schedule.ranks[mesh.rankOf(transport->rank()).index()];
        ops += 1 + static_cast<std::size_t>(updatesWithin(list)) +
               static_cast<std::size_t>(
                   std::ranges::count_if(list, [](const Op& op) { return op.kind != OpKind::Optimizer; }));
    }
    return static_cast<std::uint64_t>(config.steps) * ops;
}

} // namespace

Result<EngineResult> runEngine(const EngineConfig& config, const EngineParts& parts, JobControl& control) {
    RunState state(config, parts, control);
    control.total = opsOfRun(config, parts, state.mesh);
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
