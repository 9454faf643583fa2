#include "runtime/engine/rank_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace bubblescope::runtime {
RunState::RunState(const EngineConfig& engine_config, JobControl& job_control)
    : config(engine_config), mesh{config.schedule.pp, config.replicas, config.tensor_ranks},
      plan(config.schedule, config.replicas), control(job_control), steps(config.steps),
      losses(static_cast<std::size_t>(config.steps),
             std::vector<double>(static_cast<std::size_t>(plan.routes() * config.replicas))),
      stages(static_cast<std::size_t>(mesh.lanes())) {
    for (auto& lane : stages)
        lane.resize(static_cast<std::size_t>(config.schedule.stages()));
}

std::size_t RankLoop::togetherFrom(std::span<const Op> ops, std::size_t index) {
    return ops[index].overlapped && index + 1 < ops.size() && ops[index + 1].overlapped ? 2 : 1;
}

RankLoop::RankLoop(RunState& state, std::size_t local)
    : state_(state), schedule_(state.config.schedule), wires_(*state.config.ranks[local]),
      place_(state.mesh.placeOf(wires_.rank())), lane_(state.mesh.laneOf(place_.replica, place_.tensor)),
      wiring_(schedule_, state.plan, state.mesh, wires_.rank()), expected_(wiring_.expectedInStep()),
      clock_(state.config.clock, state.config.pace_tolerance, wires_.ended()),
      faults_(state.config.faults, place_.rank, place_.tensor),
      record_(state.config.rings.empty() ? nullptr : state.config.rings[local], faults_, state.mesh),
      ends_steps_(local == 0) {
    if (state.config.bubble_hook) bubbles_ = bubblePlaces(schedule_, state.config.times)[place_.rank.index()];
    if (state.config.checks != nullptr || faults_.inLayers()) {
        checker_ = std::make_unique<RankChecker>(state.config.checks, faults_, schedule_, state.config.times,
                                                 RankChecker::Place{wires_.rank(), state.mesh, place_},
                                                 state.config.rings.empty() ? nullptr : state.config.rings[local],
                                                 wires_.ended());
    }
    if (state.mesh.tensor_ranks > 1) sums_.emplace(wires_, state.config.clock, wiring_.tensorGroup());
}

void RankLoop::run() noexcept {
    try {
        runSteps();
    } catch (const RunEnded&) {
    } catch (const std::exception& e) {
        wires_.fail(runError(fmt::format("{} failed: {}", place(), e.what())));
    } catch (...) {
        wires_.fail(runError(fmt::format("{} failed", place())));
    }
    try {
        if (checker_) checker_->abandon();
    } catch (const std::exception& e) { // of whoever is told
        wires_.fail(runError(fmt::format("{} failed: {}", place(), e.what())));
    }
    report(Activity::Kind::Done);
}

void RankLoop::runSteps() {
    report(Activity::Kind::Starting);
    buildStages();
    wires_.expect(expected_);
    clock_.alignTo(meet(state_.config.clock.now()));
    for (step_ = 0; goesOn(); ++step_)
        runStep();
    if (state_.config.checks == nullptr) return;
    static_cast<void>(meet(freeAt())); // what was asked in the last step is there for all
    checker_->finish();
}

bool RankLoop::goesOn() {
    if (step_ < state_.steps && state_.config.end_early.stop_requested()) state_.steps = step_ + 1;
    return step_ < state_.steps;
}

void RankLoop::buildStages() {
    if (state_.config.devices) device_.emplace(state_.config.devices->open(), record_, wiring_);
    if (device_ && state_.config.checks != nullptr) {
        device_->device().prepareChecks();
        checker_->useDevice(device_->device());
    }
    if (device_ && sums_) sums_->useDevice(device_->device(), paced(state_.config.times.comm));
    for (int c = 0; c < schedule_.vpp; ++c) {
        const Stage stage = wiring_.stageOf(Chunk{c});
        StageTask task = state_.plan.taskOf(stage, place_.replica);
        task.watch = checker_.get();
        if (sums_) task.shard = {state_.mesh.tensor_ranks, place_.tensor, &*sums_, &*sums_};
        state_.stages[lane_][stage.index()] =
            device_ ? state_.config.devices->make_stage(device_->device(), task) : state_.config.make_stage(task);
    }
    if (!checker_) return;
    std::vector<std::pair<Stage, StageModel*>> stages;
    for (int c = 0; c < schedule_.vpp; ++c)
        stages.emplace_back(wiring_.stageOf(Chunk{c}), &model(wiring_.stageOf(Chunk{c})));
    checker_->watch(std::move(stages));
}

void RankLoop::runStep() {
    if (device_) device_->beginStep(clock_.freeAt());
    if (checker_) checker_->beginStep(step_, clock_.freeAt());
    if (device_ && checks()) checker_->stepBegan(device_->device().stepBegan());
    const std::span<const Op> ops = schedule_.ranks[place_.rank.index()];
    for (std::size_t i = 0; i < ops.size(); i += togetherFrom(ops, i)) {
        index_ = i;
        meetBubbles(i);
        checkBefore(i);
        if (ops[i].kind != OpKind::Optimizer) runTogether(ops.subspan(i, togetherFrom(ops, i)));
    }
    current_.reset();
    meetBubbles(ops.size());
    next_bubble_ = 0;
    checkBefore(ops.size());
    clock_.alignTo(meet(freeAt()));
    if (checks()) checker_->ended(ops.size(), clock_.freeAt());
    settleChecks();
    runOptimizer();
    current_.reset();
    if (step_ + 1 < state_.config.steps) wires_.expect(expected_);
    clock_.alignTo(meet(freeAt()));
    settleChecks();
    if (checker_) checker_->endStep();
    endStep();
}

void RankLoop::runTogether(std::span<const Op> ops) {
    checkStop();
    meetFaults(ops);
    const TimeNs nominal = nominalTime(ops);
    Arrivals inputs;
    TimeNs ready = clock_.freeAt();
    for (const Op& op : ops) {
        current_ = op;
        inputs.push_back(receiveInput(op));
        if (inputs.back()) ready = std::max(ready, inputs.back()->time);
    }
    if (device_) {
        queueTogether(ops, nominal, std::move(inputs));
        return;
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (inputs[i]) record_.received(ops[i], *inputs[i], clock_.freeAt(), ready, step_);
    }
    TimeNs start = ready;
    if (checks()) {
        const TimeNs held = checker_->heldUntil(index_).value_or(TimeNs{0});
        TimeNs there = held;
        for (const std::optional<Arrival>& input : inputs)
            there = input ? std::max(there, input->time) : there;
        if (there > TimeNs{0}) checker_->ended(index_, there);
        start = std::max(start, held);
    }
    const TimeNs begin = clock_.begin(start, nominal);
    report(Activity::Kind::Computing, ops.front(), {}, begin + nominal);
    beginSums(ops, begin, nominal);
    DeviceClock::End end;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        current_ = ops[i];
        const std::size_t sums = sums_ ? sums_->spans().size() : 0;
        if (checker_) checker_->beginOp(ops[i], wiring_.stageOf(ops[i]), begin);
        Message output{compute(ops[i], inputs[i]), TimeNs{0}};
        if (checks() && output.tensor.size() > 0) checker_->sign(output);
        recordSums(ops[i], sums);
        if (i + 1 == ops.size()) stretch(ops, begin, nominal);
        end = clock_.end(begin, withSums(nominal));
        noteMemory();
        // Sent before the hold, so that a host that oversleeps does not keep the next rank from its maths.
        output.sent = end.time;
        sendOutput(ops[i], std::move(output));
    }
    holdAndRecord(ops, begin, withSums(nominal), end, sums_ ? sums_->waited() : TimeNs{0});
}

void RankLoop::beginSums(std::span<const Op> ops, TimeNs begin, TimeNs nominal) {
    if (!sums_) return;
    const int sums = sumsIn(ops);
    const Activity computing = activity(Activity::Kind::Computing, ops.front(), {}, begin + nominal);
    if (clock_.emulates(nominal)) {
        sums_->beginOp(computing, sums, begin, nominal, state_.config.times.comm);
    } else {
        sums_->beginOp(computing, sums);
    }
}

int RankLoop::sumsIn(std::span<const Op> ops) {
    int sums = 0;
    for (const Op& op : ops)
        sums += model(wiring_.stageOf(op)).sumsIn(op.kind);
    return sums;
}

TimeNs RankLoop::withSums(TimeNs nominal) const {
    return sums_ && clock_.emulates(nominal) ? nominal + sums_->waited() : nominal;
}

void RankLoop::recordSums(const Op& op, std::size_t first) {
    if (!sums_) return;
    for (const TensorGroup::Span& span : sums_->spans().subspan(first))
        record_.summed(op, wiring_.stageOf(op), place_.rank, span.start, span.end, step_);
}

void RankLoop::queueTogether(std::span<const Op> ops, TimeNs nominal, Arrivals inputs) {
    for (std::optional<Arrival>& input : inputs) {
        if (input) device_->receive(*input, paced(state_.config.times.comm));
    }
    report(Activity::Kind::Draining);
    device_->device().waitForRoom();
    const Activity computing = activity(Activity::Kind::Computing, ops.front(), {}, TimeNs{0});
    wires_.report(computing);
    if (sums_) sums_->beginOp(computing, sumsIn(ops));
    if (checks() && clock_.paced()) {
        if (const auto held = checker_->heldSinceStep(index_)) device_->device().holdSinceStep(*held);
    }
    device_->begin(ops, paced(nominal), sumsIn(ops), checker_ ? checker_->variantOf(ops) : 0);
    std::vector<Message> outputs;
    std::vector<std::size_t> sums;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        current_ = ops[i];
        const std::size_t before = sums_ ? sums_->spans().size() : 0;
        if (checker_) checker_->beginOp(ops[i], wiring_.stageOf(ops[i]), TimeNs{0});
        Message& output = outputs.emplace_back(Message{compute(ops[i], inputs[i]), TimeNs{0}});
        if (checks() && output.tensor.size() > 0) checker_->sign(output);
        sums.push_back(sums_ ? sums_->spans().size() - before : 0);
    }
    device_->end(ops, inputs, std::move(sums));
    noteMemory();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        outputs[i].tensor = device_->handOver(std::move(outputs[i].tensor));
        outputs[i].sent = state_.config.clock.now();
        sendOutput(ops[i], std::move(outputs[i]));
    }
    countOps(ops.size());
}

std::optional<TimeNs> RankLoop::paced(TimeNs nominal) const {
    return clock_.paced() && nominal > TimeNs{0} ? std::optional(nominal) : std::nullopt;
}

TimeNs RankLoop::freeAt() {
    if (!device_) return clock_.freeAt();
    report(Activity::Kind::Draining);
    return std::max(clock_.freeAt(), device_->finish(step_));
}

void RankLoop::meetFaults(std::span<const Op> ops) {
    if (faults_.none()) return;
    for (const Op& op : ops) {
        current_ = op;
        const std::optional<FaultKind> last = faults_.endsBefore(op, step_);
        if (last == FaultKind::Hang) hang();
        if (last == FaultKind::Die) {
            if (state_.config.die) state_.config.die();
            wires_.fail(runError(fmt::format("{}: it died as it was told to", place()), "this is an injected fault"));
            throw RunEnded{};
        }
        const TimeNs pause = faults_.pauseBefore(op, step_);
        if (pause > TimeNs{0}) clock_.pause(pause);
    }
}

void RankLoop::hang() {
    report(Activity::Kind::Computing, *current_, {}, state_.config.clock.now());
    constexpr TimeNs kAwhile{1'000'000'000};
    while (!wires_.ended()) {
        if (state_.control.stopRequested()) wires_.fail(cancelledError());
        clock_.sleepUntil(state_.config.clock.now() + kAwhile);
    }
    throw RunEnded{};
}

TimeNs RankLoop::nominalTime(std::span<const Op> ops) const {
    const CostModel& times = state_.config.times;
    const auto usual = [&](const Op& op) { return times.opTime(op.kind, wiring_.stageOf(op)); };
    TimeNs sum{0};
    TimeNs added{0};
    for (const Op& op : ops) {
        const TimeNs time = usual(op);
        sum += time;
        // What takes the host's time without faults does so with them, see stretch().
        if (!faults_.none() && time > TimeNs{0}) added += faults_.opTime(op, step_, time) - time;
    }
    if (ops.size() > 1 && times.overlapped) sum = *times.overlapped;
    return std::max(sum + added, TimeNs{0});
}

void RankLoop::stretch(std::span<const Op> ops, TimeNs began, TimeNs nominal) {
    if (faults_.none() || clock_.emulates(nominal)) return;
    const TimeNs took = state_.config.clock.now() - began;
    const auto parts = static_cast<std::int64_t>(ops.size());
    TimeNs wanted{0};
    for (const Op& op : ops)
        wanted += faults_.opTime(op, step_, took / parts);
    clock_.sleepUntil(began + wanted);
}

std::optional<Arrival> RankLoop::receiveInput(const Op& op) {
    const std::optional<Wiring::Route> input = wiring_.inputOf(op);
    if (!input) return std::nullopt;
    return receive(op, input->peer, input->key);
}

Arrival RankLoop::receive(const Op& op, Rank from, const MessageKey& key) {
    report(Activity::Kind::Receiving, op, from);
    std::optional<Taken> taken = wires_.receive(from, key);
    if (!taken) throw RunEnded{};
    const TimeNs time = arrivalOf(*taken, from);
    return {key,
            std::move(taken->message.tensor),
            from,
            taken->message.sent,
            time,
            from == wires_.rank(),
            taken->message.digests,
            taken->message.late};
}

TimeNs RankLoop::arrivalOf(const Taken& taken, Rank from) {
    TimeNs time = taken.message.sent;
    if (from == wires_.rank()) return time;
    if (clock_.paced()) {
        time += state_.config.times.comm;
    } else if (taken.waited) {
        time = std::max(time, state_.config.clock.now());
    }
    if (faults_.none()) return time;
    const TimeNs planted = faults_.arrival(state_.mesh.rankOf(from), step_, time);
    if (!clock_.paced()) clock_.sleepUntil(planted);
    return planted;
}

Tensor RankLoop::compute(const Op& op, std::optional<Arrival>& arrival) {
    StageModel& stage = model(wiring_.stageOf(op));
    const Piece piece = state_.plan.pieceOf(op, place_.replica);
    Tensor input = arrival ? std::move(arrival->tensor) : Tensor();
    if (!faults_.none() && input.size() > 0) faults_.flip(op, step_, FaultTensor::Input, input);
    if (checks() && arrival && !arrival->local) checker_->received(op, wiring_.stageOf(op), input, *arrival);
    Tensor output;
    switch (op.kind) {
    case OpKind::Forward: output = stage.forward(piece, std::move(input)); break;
    case OpKind::Backward:
        output = stage.backwardInput(piece, std::move(input));
        stage.backwardWeight(piece);
        break;
    case OpKind::BackwardInput: output = stage.backwardInput(piece, std::move(input)); break;
    case OpKind::BackwardWeight: stage.backwardWeight(piece); break;
    case OpKind::Optimizer: break;
    }
    if (!faults_.none() && output.size() > 0) faults_.flip(op, step_, FaultTensor::Output, output);
    return output;
}

void RankLoop::sendOutput(const Op& op, Message message) {
    const std::optional<Wiring::Route> route = wiring_.outputOf(op);
    if (!route) return;
    const TimeNs end = message.sent;
    wires_.send(route->peer, route->key, std::move(message));
    if (route->peer == wires_.rank()) return;
    if (device_) return device_->sent(op, *route, paced(state_.config.times.comm).value_or(TimeNs{0}));
    // Paced, the transfer is as long as its latency; otherwise as long as the hand-over took.
    const TimeNs sent = clock_.paced() ? end + state_.config.times.comm : std::max(end, state_.config.clock.now());
    record_.sent(op, *route, end, sent, step_);
}

void RankLoop::noteLoss(Stage stage) {
    const int routes = state_.plan.routes();
    if (stage.value + routes < schedule_.stages() || place_.tensor != 0) return; // those who share a stage agree
    const int share = place_.replica * routes + state_.plan.routeOf(stage);
    state_.losses[static_cast<std::size_t>(step_)][static_cast<std::size_t>(share)] = model(stage).takeLoss();
}

void RankLoop::endStep() {
    if (!ends_steps_ || !state_.config.after_step) return;
    Status status = state_.config.after_step();
    if (status.ok()) return;
    wires_.fail(std::move(status).error());
    throw RunEnded{};
}

void RankLoop::holdAndRecord(std::span<const Op> ops, TimeNs begin, TimeNs nominal, const DeviceClock::End& end,
                             TimeNs exposed) {
    const TimeNs lateness = clock_.hold(begin, nominal);
    counts_.max_lateness = std::max(counts_.max_lateness, lateness);
    countOps(ops.size());
    for (const Op& op : ops) {
        counts_.late_ops += end.moved ? 1 : 0;
        record_.op(TimelineOp{op, begin, end.time, lateness, TimeNs{0}, exposed}, wiring_.stageOf(op), step_);
    }
}

void RankLoop::countOps(std::size_t ops) {
    counts_.ops += static_cast<std::int64_t>(ops);
    state_.control.done.fetch_add(ops, std::memory_order_relaxed);
}

void RankLoop::noteMemory() {
    MemoryUse now;
    for (int c = 0; c < schedule_.vpp; ++c)
        now += model(wiring_.stageOf(Chunk{c})).memory();
    if (now.total() > counts_.memory.total()) counts_.memory = now;
}

Activity RankLoop::activity(Activity::Kind kind, const Op& op, Rank peer, TimeNs due) const {
    const TimeNs now = state_.config.clock.now();
    return {kind, step_, op, peer, now, std::max(now, due)};
}

void RankLoop::checkStop() {
    if (state_.control.stopRequested()) wires_.fail(cancelledError());
    if (wires_.ended().load(std::memory_order_relaxed)) throw RunEnded{};
}

TimeNs RankLoop::meet(TimeNs time) {
    report(Activity::Kind::Meeting);
    const std::optional<TimeNs> latest = wires_.meet(time);
    if (!latest) throw RunEnded{};
    return *latest;
}

std::string RankLoop::place() const {
    const std::string rank = fmt::format("rank {}", wires_.rank().value);
    if (!current_) return fmt::format("{} (between ops of step {})", rank, step_);
    return fmt::format("{}, {} of step {}", rank, opName(*current_), step_);
}

} // namespace bubblescope::runtime
