#include "runtime/engine/moving_rank.h"

#include "core/schedule/schedule.h"
#include "runtime/engine/rank_threads.h"
#include "runtime/engine/run_ended.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr Op kUpdate{OpKind::Optimizer, Microbatch{0}, Chunk{0}};

} // namespace

MovingRun::MovingRun(const EngineConfig& engine_config, const EngineParts& engine_parts, JobControl& job_control)
    : config(engine_config), parts(engine_parts), plan(config.schedule), control(job_control), steps(config.steps),
      losses(static_cast<std::size_t>(config.schedule.microbatches)) {
    const Schedule& order = config.schedule;
    stages.resize(static_cast<std::size_t>(order.stages()));
    last.pp = order.pp;
    last.microbatches = order.microbatches;
    last.vpp = order.stages();
    last.placement = Placement::Moving;
    last.ranks.resize(order.ranks.size());
    last.comm.resize(order.ranks.size());
    std::size_t ops = order.ranks.size(); // the updates
    for (const std::vector<Op>& rank : order.ranks)
        ops += rank.size();
    control.total = static_cast<std::uint64_t>(config.steps) * ops;
}

MovingRank::MovingRank(MovingRun& run, std::size_t local)
    : run_(run), transport_(*run.parts.ranks[local]), rank_(transport_.rank()),
      clock_(run.parts.clock, run.config.paced ? std::optional(run.config.pace_tolerance) : std::nullopt,
             transport_.ended()),
      ring_(run.parts.rings.empty() ? nullptr : run.parts.rings[local]) {}

void MovingRank::run() noexcept {
    failOnException(
        transport_, [this] { runSteps(); }, [this] { return description(); });
    report(Activity::Kind::Done);
}

void MovingRank::addTo(EngineResult& result) const {
    result.memory.push_back(memory_);
    result.ops += ops_;
    result.late_ops += late_ops_;
    result.max_lateness = std::max(result.max_lateness, max_lateness_);
}

void MovingRank::runSteps() {
    report(Activity::Kind::Starting);
    buildStages();
    clock_.alignTo(barrier(run_.parts.clock.now()));
    for (step_ = 0; goesOn(); ++step_)
        runStep();
}

bool MovingRank::goesOn() {
    if (step_ < run_.steps && run_.config.end_early.stop_requested()) run_.steps = step_ + 1;
    return step_ < run_.steps;
}

void MovingRank::runStep() {
    run_.last.ranks[rank_.index()].clear();
    step_begin_ = clock_.freeAt();
    last_end_ = step_begin_;
    runOps();
    const TimeNs end = barrier(last_end_);
    if (rank_.value == 0) endTimeline(end);
    throwIfEnded(transport_, run_.control);
    current_ = kUpdate;
    clock_.alignTo(std::max(clock_.freeAt(), gatherGradients(end)));
    const Begun begun = begin(kUpdate, firstOwned(), clock_.freeAt());
    update();
    hold(begun, computed(begun));
    clock_.alignTo(barrier(clock_.freeAt()));
}

void MovingRank::endTimeline(TimeNs end) {
    run_.last.index = step_;
    run_.last.begin = step_begin_;
    run_.last.end = end;
    run_.walls.push_back(end - step_begin_);
    run_.step_losses.push_back(std::accumulate(run_.losses.begin(), run_.losses.end(), 0.0) /
                               static_cast<double>(run_.losses.size()));
}

MovingRank::Begun MovingRank::begin(const Op& op, Stage stage, TimeNs ready) {
    throwIfEnded(transport_, run_.control);
    current_ = op;
    const TimeNs nominal = run_.config.times.opTime(op.kind, stage);
    const Begun begun{op, clock_.begin(ready, nominal), nominal};
    report(Activity::Kind::Computing, op, {}, begun.begin + nominal);
    return begun;
}

void MovingRank::hold(const Begun& begun, const DeviceClock::End& end) {
    const TimeNs lateness = clock_.hold(begun.begin, begun.nominal);
    max_lateness_ = std::max(max_lateness_, lateness);
    late_ops_ += end.moved ? 1 : 0;
    ++ops_;
    run_.control.done.fetch_add(1, std::memory_order_relaxed);
    current_.reset();
    const TimelineOp done{begun.op, begun.begin, end.time};
    if (ring_ != nullptr) {
        const Stage stage{begun.op.chunk.value}; // as Placement::Moving assigns stages
        ring_->push(profiler::SliceRecord::of(done, stage, step_, {lateness, TimeNs{0}, TimeNs{0}}));
    }
    if (begun.op.kind == OpKind::Optimizer) return;
    last_end_ = end.time;
    run_.last.ranks[rank_.index()].push_back(done);
}

void MovingRank::idleUntil(TimeNs time) {
    clock_.alignTo(std::max(clock_.freeAt(), clock_.paced() ? time : run_.parts.clock.now()));
}

Taken MovingRank::receive(Rank from, const MessageKey& key, std::optional<Op> op) {
    if (op) current_ = op;
    report(Activity::Kind::Receiving, current_.value_or(Op{}), from);
    return receiveOrLeave(transport_, from, key);
}

void MovingRank::countMemory(const MemoryUse& now) {
    if (now.total() > memory_.total()) memory_ = now;
}

TimeNs MovingRank::barrier(TimeNs time) {
    report(Activity::Kind::AtBarrier);
    return meetOrLeave(transport_, time);
}

void MovingRank::report(Activity::Kind kind, const Op& op, Rank peer, TimeNs due) {
    const TimeNs now = run_.parts.clock.now();
    transport_.report({kind, step_, op, peer, now, std::max(now, due)});
}

std::string MovingRank::description() const {
    if (!current_) return fmt::format("rank {} (between ops of step {})", rank_.value, step_);
    return fmt::format("rank {}, {} of step {}", rank_.value, opName(*current_), step_);
}

Result<MovingRunResult> runMovingRanks(MovingRun& run, const std::vector<std::unique_ptr<MovingRank>>& ranks) {
    runRankThreads(run.parts.ranks, [&ranks](std::size_t local) { ranks[local]->run(); });
    if (std::optional<Error> error = run.parts.ranks.front()->error()) return std::move(*error);
    MovingRunResult result;
    for (const double loss : run.step_losses)
        result.engine.losses.push_back({loss});
    result.engine.stages.push_back(std::move(run.stages));
    for (const auto& rank : ranks)
        rank->addTo(result.engine);
    result.last = std::move(run.last);
    result.walls = std::move(run.walls);
    return result;
}

} // namespace bubblescope::runtime
