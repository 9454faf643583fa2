#include "core/live/live_analyzer.h"
#include "core/live/live_source.h"

#include <fmt/format.h>

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

/// What is known of a rank by what its process tells. `last_heard`: of any.
RankState stateOf(const RecordedProcess& process, TimeNs last_heard, TimeNs patience) {
    if (process.ended) return RankState::Ended;
    if (process.gone) return RankState::Gone;
    return last_heard - process.heard >= patience ? RankState::Late : RankState::Running;
}

} // namespace

bool LiveAnalyzer::isCaptured(Stream stream) const {
    return sources_[stream]->process != nullptr;
}

void LiveAnalyzer::takeRun(const Run& run, bool settled) {
    if (run.steps.empty()) return;
    const RunInfo info = infoOf(run);
    if (!StepAssembler::sizesCanBe(info)) return;
    // More of the trace may show that it is another schedule, or has more ranks: then all is told anew.
    if (!info_ || !sameSizes(*info_, info)) {
        captured_until_.reset();
        captured_steps_ = 0;
        beginRun(info);
    }
    captured_settled_ = settled;
    captured_places_ = run.places;
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
                if (rank->state == RankState::Awaited) setState(*rank, RankState::Running);
            }
        }
        closed.timelines = std::move(replicas);
        closeStep(std::move(closed));
    }
}

/// Of ranks whose ops are recognised later, and all together, only the recording itself tells at once how they are.
void LiveAnalyzer::watchCaptured() {
    const TimeNs last_heard = processes_.lastHeard();
    const TimeNs patience = options_.board.patience / 2; // as of ranks that tell their steps
    for (const auto& [place, process] : processes_.byRank(captured_places_, info_->pp)) {
        const auto [in_pipeline, replica] = place;
        if (in_pipeline >= info_->pp || replica >= info_->dp) continue;
        LiveRank& rank = ranks_[board_->placeOf(in_pipeline, replica)];
        rank.host = process->told.writer.host;
        rank.pid = process->told.writer.pid;
        rank.dropped = process->lost;
        const RankState state = stateOf(*process, last_heard, patience);
        rank.why = state == RankState::Gone   ? process->why
                   : state == RankState::Late ? fmt::format("nothing was heard of it for {}, in which others went on",
                                                            formatTime(last_heard - process->heard))
                                              : "";
        setState(rank, state);
    }
    if (run_ended_ || !captured_settled_ || !processes_.allOver()) return;
    for (LiveRank& rank : ranks_) { // those whose processes cannot be told
        if (rank.state == RankState::Running) setState(rank, RankState::Ended);
    }
    run_ended_ = true;
    tell(LiveEvent::Kind::RunEnded, captured_steps_ - 1);
}

} // namespace bubblescope::profiler
