#include "profiler/collect/live_engine.h"

#include <algorithm>
#include <map>
#include <utility>

// Steps of jobs that know nothing of us, as they were recognised in their traces.
namespace bubblescope::profiler {
namespace {

RunInfo infoOf(const Run& run) {
    RunInfo info;
    info.source = "capture";
    info.schedule = run.schedule.name;
    info.flavor = run.schedule.flavor;
    const StepTimeline& step = run.steps.front();
    info.pp = step.pp;
    info.microbatches = step.microbatches;
    info.vpp = step.vpp;
    info.placement = step.placement;
    for (const StepTimeline& other : run.steps)
        info.dp = std::max(info.dp, other.replica + 1);
    return info;
}

} // namespace

void LiveEngine::takeRun(const Run& run, bool settled) {
    if (run.steps.empty()) return;
    const RunInfo info = infoOf(run);
    if (!StepBoard::sizesCanBe(info)) return;
    // More of the trace may show that it is another schedule, or has more ranks: then all is told anew.
    if (!info_ || !sameSizes(*info_, info)) {
        captured_until_.reset();
        captured_steps_ = 0;
        beginRun(info);
    }
    std::map<int, std::vector<StepTimeline>> steps; // replicas together
    for (const StepTimeline& step : run.steps)
        steps[step.index].push_back(step);
    if (!settled) steps.erase(std::prev(steps.end()));
    // Files that are full go, and steps are counted from the first that is left: only times tell which they are.
    const TimeNs origin = run.trace ? run.trace->origin() : TimeNs{0};
    for (auto& [index, replicas] : steps) {
        const TimeNs begin = origin + std::ranges::min(replicas, {}, &StepTimeline::begin).begin;
        if (captured_until_ && begin <= *captured_until_) continue;
        captured_until_ = begin;
        ClosedStep closed;
        closed.index = captured_steps_++;
        for (StepTimeline& step : replicas) {
            step.index = closed.index;
            LiveRank* rank = &ranks_[board_->placeOf(0, step.replica)];
            for (std::size_t r = 0; r < step.ranks.size(); ++r, ++rank) {
                rank->step = closed.index;
                rank->records += static_cast<std::int64_t>(step.ranks[r].size());
                setState(*rank, RankState::Running);
            }
        }
        closed.timelines = std::move(replicas);
        closeStep(std::move(closed));
    }
}

} // namespace bubblescope::profiler
