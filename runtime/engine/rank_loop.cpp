#include "runtime/engine/rank_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace bubblescope::runtime {
namespace {

bool isBackward(OpKind kind) {
    return kind == OpKind::Backward || kind == OpKind::BackwardInput;
}

} // namespace

RunState::RunState(const EngineConfig& engine_config, JobControl& job_control)
    : config(engine_config), control(job_control), mailboxes(static_cast<std::size_t>(config.schedule.pp)),
      barrier(config.schedule.pp), losses(static_cast<std::size_t>(config.steps), 0.0),
      stages(static_cast<std::size_t>(config.schedule.stages())) {}

void RunState::fail(Error error) {
    {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(error);
    }
    aborted = true;
    for (Mailbox& mailbox : mailboxes)
        mailbox.abort();
    barrier.abort();
}

std::optional<Error> RunState::takeError() {
    const std::lock_guard lock(mutex_);
    return std::move(error_);
}

RankLoop::RankLoop(RunState& state, Rank rank)
    : state_(state), schedule_(state.config.schedule), rank_(rank),
      clock_(state.config.clock, state.config.pace_tolerance, state.aborted),
      ring_(state.config.rings.empty() ? nullptr : state.config.rings[rank.index()]) {}

void RankLoop::run() noexcept {
    try {
        runSteps();
    } catch (const Aborted&) {
    } catch (const std::exception& e) {
        state_.fail(runError(fmt::format("{} failed: {}", place(), e.what())));
    } catch (...) {
        state_.fail(runError(fmt::format("{} failed", place())));
    }
}

void RankLoop::runSteps() {
    buildStages();
    clock_.alignTo(meet(state_.config.clock.now()));
    for (step_ = 0; step_ < state_.config.steps; ++step_)
        runStep();
}

void RankLoop::buildStages() {
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = schedule_.stageOf(rank_, Chunk{c});
        state_.stages[stage.index()] = state_.config.make_stage(stage);
    }
}

void RankLoop::runStep() {
    for (const Op& op : schedule_.ranks[rank_.index()]) {
        if (op.kind != OpKind::Optimizer) runOp(op);
    }
    current_.reset();
    clock_.alignTo(meet(clock_.freeAt()));
    runOptimizer();
    current_.reset();
    clock_.alignTo(meet(clock_.freeAt()));
    endStep();
}

void RankLoop::runOp(const Op& op) {
    checkStop();
    current_ = op;
    const Stage stage = schedule_.stageOf(rank_, op.chunk);
    const TimeNs nominal = state_.config.times.opTime(op.kind, stage);
    Input input = receiveInput(op, stage);
    const TimeNs begin = clock_.begin(input.arrival, nominal);
    Tensor output = compute(op, stage, std::move(input.tensor));
    const DeviceClock::End end = clock_.end(begin, nominal);
    // Sent before the hold, so that a host that oversleeps does not keep the next rank from its maths.
    sendOutput(op, stage, std::move(output), end.time);
    holdAndRecord(op, stage, begin, nominal, end);
}

RankLoop::Input RankLoop::receiveInput(const Op& op, Stage stage) {
    const TimeNs free_at = clock_.freeAt();
    MessageKey key{Payload::Activation, op.microbatch, stage};
    Stage producer{stage.value - 1};
    if (isBackward(op.kind)) {
        key.payload = Payload::Gradient;
        producer.value = stage.value + 1;
    }
    const bool at_edge = producer.value < 0 || producer.value >= schedule_.stages();
    if (op.kind == OpKind::BackwardWeight || at_edge) return {Tensor(), free_at};

    std::optional<Mailbox::Taken> taken = state_.mailboxes[rank_.index()].take(key);
    if (!taken) throw Aborted{};
    const TimeNs sent = taken->message.sent;
    const Rank peer = locate(schedule_.placement, schedule_.pp, producer).rank;
    if (peer == rank_) return {std::move(taken->message.tensor), sent};

    TimeNs arrival = sent;
    if (clock_.paced()) {
        arrival += state_.config.times.comm;
    } else if (taken->waited) {
        arrival = std::max(sent, state_.config.clock.now());
    }
    recordComm(CommKind::Receive, key, peer, sent, arrival);
    if (arrival > free_at) recordComm(CommKind::Wait, key, peer, free_at, arrival);
    return {std::move(taken->message.tensor), arrival};
}

Tensor RankLoop::compute(const Op& op, Stage stage, Tensor input) {
    StageModel& model = *state_.stages[stage.index()];
    switch (op.kind) {
    case OpKind::Forward: return model.forward(op.microbatch, std::move(input));
    case OpKind::Backward: {
        Tensor gradient = model.backwardInput(op.microbatch, std::move(input));
        model.backwardWeight(op.microbatch);
        return gradient;
    }
    case OpKind::BackwardInput: return model.backwardInput(op.microbatch, std::move(input));
    case OpKind::BackwardWeight: model.backwardWeight(op.microbatch); break;
    case OpKind::Optimizer: break;
    }
    return {};
}

void RankLoop::sendOutput(const Op& op, Stage stage, Tensor output, TimeNs end) {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !isBackward(op.kind)) return;
    const Stage consumer{stage.value + (forward ? 1 : -1)};
    if (consumer.value < 0 || consumer.value >= schedule_.stages()) return;
    const MessageKey key{forward ? Payload::Activation : Payload::Gradient, op.microbatch, consumer};
    const Rank peer = locate(schedule_.placement, schedule_.pp, consumer).rank;
    state_.mailboxes[peer.index()].put(key, {std::move(output), end});
    if (peer == rank_) return;
    // Paced, the transfer is as long as its latency; otherwise as long as the hand-over took.
    const TimeNs sent = clock_.paced() ? end + state_.config.times.comm : std::max(end, state_.config.clock.now());
    recordComm(CommKind::Send, key, peer, end, sent);
}

void RankLoop::runOptimizer() {
    checkStop();
    const Op op{OpKind::Optimizer, Microbatch{0}, Chunk{0}};
    current_ = op;
    // One op updates all of the rank's stages; its nominal time is that of the first.
    const Stage first = schedule_.stageOf(rank_, Chunk{0});
    const TimeNs nominal = state_.config.times.opTime(op.kind, first);
    const TimeNs begin = clock_.begin(clock_.freeAt(), nominal);
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = schedule_.stageOf(rank_, Chunk{c});
        state_.stages[stage.index()]->applyGradients();
        if (stage.value == schedule_.stages() - 1) {
            state_.losses[static_cast<std::size_t>(step_)] = state_.stages[stage.index()]->takeLoss();
        }
    }
    holdAndRecord(op, first, begin, nominal, clock_.end(begin, nominal));
}

void RankLoop::endStep() {
    if (rank_.value != 0 || !state_.config.after_step) return;
    Status status = state_.config.after_step();
    if (status.ok()) return;
    state_.fail(std::move(status).error());
    throw Aborted{};
}

void RankLoop::holdAndRecord(const Op& op, Stage stage, TimeNs begin, TimeNs nominal, const DeviceClock::End& end) {
    const TimeNs lateness = clock_.hold(begin, nominal);
    ++counts_.ops;
    counts_.late_ops += end.moved ? 1 : 0;
    counts_.max_lateness = std::max(counts_.max_lateness, lateness);
    state_.control.done.fetch_add(1, std::memory_order_relaxed);
    if (ring_ == nullptr) return;
    ring_->push(profiler::SliceRecord::of(TimelineOp{op, begin, end.time, lateness}, stage, step_));
}

void RankLoop::recordComm(CommKind kind, const MessageKey& key, Rank peer, TimeNs start, TimeNs end) {
    if (ring_ == nullptr) return;
    const CommSpan span{kind, key.payload, key.microbatch, key.consumer, peer, start, end};
    ring_->push(profiler::SliceRecord::of(span, step_));
}

void RankLoop::checkStop() {
    if (state_.control.stopRequested()) state_.fail(cancelledError());
    if (state_.aborted.load(std::memory_order_relaxed)) throw Aborted{};
}

TimeNs RankLoop::meet(TimeNs time) {
    const std::optional<TimeNs> latest = state_.barrier.meet(time);
    if (!latest) throw Aborted{};
    return *latest;
}

std::string RankLoop::place() const {
    if (!current_) return fmt::format("rank {} (between ops of step {})", rank_.value, step_);
    return fmt::format("rank {}, {} of step {}", rank_.value, opName(*current_), step_);
}

} // namespace bubblescope::runtime
