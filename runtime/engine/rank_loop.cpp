#include "runtime/engine/rank_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace bubblescope::runtime {
namespace {

/// How many ops from `index` on run as one.
std::size_t togetherFrom(std::span<const Op> ops, std::size_t index) {
    return ops[index].overlapped && index + 1 < ops.size() && ops[index + 1].overlapped ? 2 : 1;
}

Payload payloadOf(const MessageKey& key) {
    return key.content == Content::Activation ? Payload::Activation : Payload::Gradient;
}

} // namespace

RunState::RunState(const EngineConfig& engine_config, JobControl& job_control)
    : config(engine_config), plan(config.schedule), control(job_control),
      mailboxes(static_cast<std::size_t>(config.schedule.pp)), barrier(config.schedule.pp),
      losses(static_cast<std::size_t>(config.steps), std::vector<double>(static_cast<std::size_t>(plan.routes()))),
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
    const std::span<const Op> ops = schedule_.ranks[rank_.index()];
    for (std::size_t i = 0; i < ops.size(); i += togetherFrom(ops, i)) {
        if (ops[i].kind != OpKind::Optimizer) runTogether(ops.subspan(i, togetherFrom(ops, i)));
    }
    current_.reset();
    clock_.alignTo(meet(clock_.freeAt()));
    runOptimizer();
    current_.reset();
    clock_.alignTo(meet(clock_.freeAt()));
    endStep();
}

void RankLoop::runTogether(std::span<const Op> ops) {
    checkStop();
    const TimeNs nominal = nominalTime(ops);
    Arrivals inputs;
    TimeNs ready = clock_.freeAt();
    for (const Op& op : ops) {
        current_ = op;
        inputs.push_back(receiveInput(op));
        if (inputs.back()) ready = std::max(ready, inputs.back()->time);
    }
    recordArrivals(inputs, ready);
    const TimeNs begin = clock_.begin(ready, nominal);
    DeviceClock::End end;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        current_ = ops[i];
        Tensor output = compute(ops[i], inputs[i] ? std::move(inputs[i]->tensor) : Tensor());
        end = clock_.end(begin, nominal);
        noteMemory();
        // Sent before the hold, so that a host that oversleeps does not keep the next rank from its maths.
        sendOutput(ops[i], std::move(output), end.time);
    }
    holdAndRecord(ops, begin, nominal, end);
}

TimeNs RankLoop::nominalTime(std::span<const Op> ops) const {
    const CostModel& times = state_.config.times;
    if (ops.size() > 1 && times.overlapped) return *times.overlapped;
    TimeNs sum{0};
    for (const Op& op : ops)
        sum += times.opTime(op.kind, stageOf(op));
    return sum;
}

std::optional<RankLoop::Arrival> RankLoop::receiveInput(const Op& op) {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !producesInputGradient(op.kind)) return std::nullopt;
    const Stage stage = stageOf(op);
    const Stage producer{stage.value + (forward ? -state_.plan.routes() : state_.plan.routes())};
    if (producer.value < 0 || producer.value >= schedule_.stages()) return std::nullopt;
    return receive({forward ? Content::Activation : Content::Gradient, producer, stage, op.microbatch, op.sequence});
}

RankLoop::Arrival RankLoop::receive(const MessageKey& key) {
    std::optional<Mailbox::Taken> taken = state_.mailboxes[rank_.index()].take(key);
    if (!taken) throw Aborted{};
    Message& message = taken->message;
    Arrival arrival{key, std::move(message.tensor), rankOf(key.producer), message.sent, message.sent};
    if (arrival.from == rank_) return arrival;
    if (clock_.paced()) {
        arrival.time += state_.config.times.comm;
    } else if (taken->waited) {
        arrival.time = std::max(arrival.sent, state_.config.clock.now());
    }
    return arrival;
}

void RankLoop::recordArrivals(const Arrivals& arrivals, TimeNs ready) {
    const TimeNs free_at = clock_.freeAt();
    for (const auto& arrival : arrivals) {
        if (!arrival || arrival->from == rank_) continue;
        recordComm(CommKind::Receive, arrival->key, arrival->from, arrival->sent, arrival->time);
        if (ready > free_at) recordComm(CommKind::Wait, arrival->key, arrival->from, free_at, ready);
    }
}

Tensor RankLoop::compute(const Op& op, Tensor input) {
    StageModel& stage = model(stageOf(op));
    const Piece piece = state_.plan.pieceOf(op);
    switch (op.kind) {
    case OpKind::Forward: return stage.forward(piece, std::move(input));
    case OpKind::Backward: {
        Tensor gradient = stage.backwardInput(piece, std::move(input));
        stage.backwardWeight(piece);
        return gradient;
    }
    case OpKind::BackwardInput: return stage.backwardInput(piece, std::move(input));
    case OpKind::BackwardWeight: stage.backwardWeight(piece); break;
    case OpKind::Optimizer: break;
    }
    return {};
}

void RankLoop::sendOutput(const Op& op, Tensor output, TimeNs end) {
    const bool forward = op.kind == OpKind::Forward;
    if (!forward && !producesInputGradient(op.kind)) return;
    const Stage stage = stageOf(op);
    const Stage consumer{stage.value + (forward ? state_.plan.routes() : -state_.plan.routes())};
    if (consumer.value < 0 || consumer.value >= schedule_.stages()) return;
    const MessageKey key{forward ? Content::Activation : Content::Gradient, stage, consumer, op.microbatch,
                         op.sequence};
    const Rank peer = rankOf(consumer);
    state_.mailboxes[peer.index()].put(key, {std::move(output), end});
    if (peer == rank_) return;
    // Paced, the transfer is as long as its latency; otherwise as long as the hand-over took.
    const TimeNs sent = clock_.paced() ? end + state_.config.times.comm : std::max(end, state_.config.clock.now());
    recordComm(CommKind::Send, key, peer, end, sent);
}

std::vector<Tensor> RankLoop::sumGradients(TimeNs& ready) {
    const DataPlan& plan = state_.plan;
    std::vector<Tensor> own;
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = schedule_.stageOf(rank_, Chunk{c});
        own.push_back(model(stage).takeGradient());
        for (int route = 0; route < plan.routes(); ++route) {
            const Stage copy = plan.copyOf(stage, route);
            if (copy == stage) continue;
            state_.mailboxes[rankOf(copy).index()].put({Content::GradientSum, stage, copy, {}}, {own.back(), ready});
        }
    }
    std::vector<Tensor> sums;
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = schedule_.stageOf(rank_, Chunk{c});
        Tensor sum;
        for (int route = 0; route < plan.routes(); ++route) {
            const Stage copy = plan.copyOf(stage, route);
            Tensor part;
            if (copy == stage) {
                part = std::move(own[Chunk{c}.index()]);
            } else {
                Arrival arrival = receive({Content::GradientSum, copy, stage, {}});
                ready = std::max(ready, arrival.time);
                part = std::move(arrival.tensor);
            }
            if (route == 0) {
                sum = std::move(part);
            } else {
                sum += part;
            }
        }
        sums.push_back(std::move(sum));
    }
    return sums;
}

void RankLoop::runOptimizer() {
    checkStop();
    const Op op{OpKind::Optimizer, Microbatch{0}, Chunk{0}};
    current_ = op;
    // One op updates all of the rank's stages; its nominal time is that of the first.
    const TimeNs nominal = nominalTime({&op, 1});
    TimeNs ready = clock_.freeAt();
    const std::vector<Tensor> sums = sumGradients(ready);
    const TimeNs begin = clock_.begin(ready, nominal);
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = schedule_.stageOf(rank_, Chunk{c});
        model(stage).applyGradient(sums[Chunk{c}.index()]);
        if (stage.value + state_.plan.routes() >= schedule_.stages()) {
            state_.losses[static_cast<std::size_t>(step_)][static_cast<std::size_t>(state_.plan.routeOf(stage))] =
                model(stage).takeLoss();
        }
    }
    holdAndRecord({&op, 1}, begin, nominal, clock_.end(begin, nominal));
}

void RankLoop::endStep() {
    if (rank_.value != 0 || !state_.config.after_step) return;
    Status status = state_.config.after_step();
    if (status.ok()) return;
    state_.fail(std::move(status).error());
    throw Aborted{};
}

void RankLoop::holdAndRecord(std::span<const Op> ops, TimeNs begin, TimeNs nominal, const DeviceClock::End& end) {
    const TimeNs lateness = clock_.hold(begin, nominal);
    counts_.max_lateness = std::max(counts_.max_lateness, lateness);
    for (const Op& op : ops) {
        ++counts_.ops;
        counts_.late_ops += end.moved ? 1 : 0;
        state_.control.done.fetch_add(1, std::memory_order_relaxed);
        if (ring_ == nullptr) continue;
        ring_->push(profiler::SliceRecord::of(TimelineOp{op, begin, end.time, lateness}, stageOf(op), step_));
    }
}

void RankLoop::noteMemory() {
    MemoryUse now;
    for (int c = 0; c < schedule_.vpp; ++c)
        now += model(schedule_.stageOf(rank_, Chunk{c})).memory();
    if (now.total() > counts_.memory.total()) counts_.memory = now;
}

void RankLoop::recordComm(CommKind kind, const MessageKey& key, Rank peer, TimeNs start, TimeNs end) {
    if (ring_ == nullptr) return;
    const CommSpan span{kind, payloadOf(key), key.microbatch, key.consumer, peer, start, end, key.sequence};
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
