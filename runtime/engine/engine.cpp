#include "runtime/engine/engine.h"

#include "runtime/engine/rank_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

namespace bubblescope::runtime {
namespace {

std::uint64_t opsOfRun(const EngineConfig& config) {
    std::size_t ops = static_cast<std::size_t>(config.schedule.pp);
    for (const auto& list : config.schedule.ranks) {
        ops += static_cast<std::size_t>(
            std::count_if(list.begin(), list.end(), [](const Op& op) { return op.kind != OpKind::Optimizer; }));
    }
    return static_cast<std::uint64_t>(config.steps) * ops;
}

/// One thread per rank, until all of them have ended.
void runRanks(RunState& state, std::deque<RankLoop>& loops) {
    std::vector<std::thread> threads;
    threads.reserve(loops.size());
    try {
        for (RankLoop& loop : loops) {
            threads.emplace_back([&loop] {
                usePunctualSleep();
                loop.run();
            });
        }
    } catch (const std::system_error& e) {
        // The ranks that did start would wait for this one for ever.
        state.fail(runError(fmt::format("the thread of rank {} cannot be started: {}", threads.size(), e.what()),
                            "fewer ranks need fewer threads"));
    }
    for (std::thread& thread : threads)
        thread.join();
}

} // namespace

Result<EngineResult> runEngine(const EngineConfig& config, JobControl& control) {
    control.total = opsOfRun(config);
    RunState state(config, control);
    std::deque<RankLoop> loops;
    for (int r = 0; r < config.schedule.pp; ++r)
        loops.emplace_back(state, Rank{r});
    runRanks(state, loops);
    if (std::optional<Error> error = state.takeError()) return std::move(*error);

    EngineResult result;
    for (const std::vector<double>& shares : state.losses)
        result.losses.push_back(std::accumulate(shares.begin(), shares.end(), 0.0));
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
