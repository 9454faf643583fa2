#include "runtime/engine/rank_loop.h"

#include "runtime/engine/run_ended.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr Op kOptimizer{OpKind::Optimizer, Microbatch{0}, Chunk{0}};

} // namespace

RankLoop::RankLoop(RunState& run, std::size_t local)
    : rank_(run, local), stages_(rank_), exchange_(rank_), bubbles_(rank_), ready_(rank_, exchange_),
      ends_steps_(local == 0), updates_(run.plan.updates()) {}

void RankLoop::run() noexcept {
    const auto where = [this] { return rank_.description(); };
    failOnException(
        rank_.transport, [this] { runSteps(); }, where);
    failOnException(
        rank_.transport,
        [this] {
            if (rank_.fillsBubbles()) rank_.hook->abandon();
        },
        where);
    rank_.report(Activity::Kind::Done);
}

void RankLoop::runSteps() {
    rank_.report(Activity::Kind::Starting);
    stages_.build();
    stages_.rehearse();
    exchange_.expectStep();
    rank_.clock.alignTo(exchange_.barrier(rank_.parts.clock.now()));
    for (rank_.step = 0; goesOn(); ++rank_.step)
        runStep();
    if (!rank_.fillsBubbles()) return;
    static_cast<void>(exchange_.barrier(finish())); // makes questions of the last step visible to all ranks
    rank_.hook->drain();
}

void RankLoop::runList() {
    const std::span<const Op> ops = rank_.ops();
    for (std::size_t i = 0; i < ops.size(); i += rank_.togetherFrom(i)) {
        bubbles_.before(i);
        moveActivations(i);
        if (ops[i].kind != OpKind::Optimizer) {
            runTogether(i);
        } else if (update_ + 1 < updates_) {
            updateWithin();
        }
    }
}

void RankLoop::runReady() {
    ready_.beginStep();
    while (const std::optional<std::size_t> index = ready_.next()) {
        if (rank_.ops()[*index].kind != OpKind::Optimizer) runTogether(*index);
    }
}

bool RankLoop::goesOn() {
    if (rank_.step < rank_.run.steps && rank_.config.end_early.stop_requested()) rank_.run.steps = rank_.step + 1;
    return rank_.step < rank_.run.steps;
}

void RankLoop::runStep() {
    rank_.beginStep();
    if (rank_.device) rank_.device->beginStep(rank_.clock.freeAt(), rank_.step);
    if (rank_.hook) rank_.hook->beginStep(rank_.step, rank_.clock.freeAt());
    bubbles_.beginStep();
    if (rank_.order->graph) {
        runReady();
    } else {
        runList();
    }
    rank_.current.reset();
    bubbles_.before(rank_.ops().size());
    rank_.clock.alignTo(exchange_.barrier(finish()));
    bubbles_.opsDone(rank_.clock.freeAt());
    runOptimizer();
    rank_.current.reset();
    if (rank_.step + 1 < rank_.config.steps) exchange_.expectStep();
    rank_.clock.alignTo(exchange_.barrier(finish()));
    bubbles_.optimizerDone();
    if (rank_.fillsBubbles()) rank_.hook->onStepEnd();
    endStep();
}

void RankLoop::endStep() {
    if (!ends_steps_) return;
    if (rank_.parts.next_order) {
        StepTimeline& step = rank_.run.observed[static_cast<std::size_t>(rank_.step % 2)];
        step.index = rank_.step;
        step.fitWindow();
        if (std::optional<RunOrder> order = rank_.parts.next_order(step)) {
            const int from = rank_.step + 2;
            if (from < rank_.config.steps) { // the order may split backwards, or no longer split them
                const auto steps = static_cast<std::uint64_t>(rank_.config.steps - from);
                const std::uint64_t before = rank_.run.opsOfStep(rank_.run.order.of(from - 1)->schedule);
                rank_.run.control.total += steps * (rank_.run.opsOfStep(order->schedule) - before);
            }
            rank_.run.order.set(from, std::move(*order));
        }
    }
    if (!rank_.parts.after_step) return;
    Status status = rank_.parts.after_step();
    if (status.ok()) return;
    rank_.transport.fail(std::move(status).error());
    throw RunEnded{};
}

// ---- Ops

void RankLoop::runTogether(std::size_t index) {
    const std::span<const Op> ops = rank_.ops().subspan(index, rank_.togetherFrom(index));
    throwIfEnded(rank_.transport, rank_.run.control);
    injectFaults(ops);
    TimeNs nominal = nominalTime(ops);
    const Action* const recompute = rank_.moves.recomputedIn(index);
    if (recompute != nullptr) nominal += forwardTime(*recompute);
    Arrivals inputs = receiveInputs(index);
    if (rank_.device) {
        queueOnDevice(index, ops, nominal, std::move(inputs));
    } else {
        runOnHost(index, ops, nominal, std::move(inputs));
    }
}

RankLoop::Arrivals RankLoop::receiveInputs(std::size_t index) {
    if (rank_.order->graph) return ready_.take(index);
    Arrivals inputs;
    for (const Op& op : rank_.ops().subspan(index, rank_.togetherFrom(index))) {
        rank_.current = op;
        inputs.push_back(exchange_.receiveInput(op));
    }
    return inputs;
}

void RankLoop::runOnHost(std::size_t index, std::span<const Op> ops, TimeNs nominal, Arrivals inputs) {
    TimeNs arrived{0};
    for (const std::optional<Arrival>& input : inputs) {
        if (input) arrived = std::max(arrived, input->time);
        if (input && input->joined) arrived = std::max(arrived, input->joined->time);
    }
    const TimeNs ready = std::max(rank_.clock.freeAt(), arrived);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (inputs[i]) rank_.record.arrived(ops[i], *inputs[i], rank_.clock.freeAt(), ready, rank_.step);
    }
    const TimeNs held = bubbles_.heldUntil(index).value_or(TimeNs{0});
    bubbles_.inputsReady(index, std::max(arrived, held));
    const TimeNs begin = rank_.clock.begin(std::max(ready, held), nominal);
    rank_.report(Activity::Kind::Computing, ops.front(), {}, begin + nominal);
    beginSums(ops, begin, nominal);
    DeviceClock::End end;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const std::size_t sums = sumsSoFar();
        if (i == 0) recomputeFor(index);
        Message output = compute(ops[i], inputs[i], begin);
        recordSums(ops[i], sums);
        if (i + 1 == ops.size()) stretch(ops, begin, nominal);
        end = rank_.clock.end(begin, withSums(nominal));
        stages_.sampleMemory();
        // The message is sent before the hold, so that a host that sleeps too long does not delay the next rank's
        // maths.
        output.sent = end.time;
        exchange_.sendOutput(ops[i], std::move(output));
    }
    holdAndRecord(ops, begin, withSums(nominal), end, rank_.sums ? rank_.sums->waited() : TimeNs{0});
}

void RankLoop::queueOnDevice(std::size_t index, std::span<const Op> ops, TimeNs nominal, Arrivals inputs) {
    DeviceOps& device = *rank_.device;
    for (std::optional<Arrival>& input : inputs) {
        if (input) device.receive(*input, rank_.paced(rank_.config.times.comm));
    }
    rank_.report(Activity::Kind::Draining);
    device.device().waitForRoom();
    rank_.report(Activity::Kind::Computing, ops.front());
    const int sums_to_come = stages_.sumsIn(ops);
    if (rank_.sums)
        rank_.sums->beginOp(rank_.activity(Activity::Kind::Computing, ops.front(), {}, TimeNs{0}), sums_to_come);
    if (rank_.clock.paced()) {
        if (const auto held = bubbles_.heldSinceStep(index)) device.device().holdSinceStep(*held);
    }
    device.begin(ops, rank_.paced(nominal), sums_to_come, rank_.hook ? rank_.hook->variantOf(ops) : 0);
    std::vector<Message> outputs;
    std::vector<std::size_t> sums;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const std::size_t before = sumsSoFar();
        if (i == 0) recomputeFor(index);
        outputs.push_back(compute(ops[i], inputs[i], TimeNs{0}));
        sums.push_back(sumsSoFar() - before);
    }
    if (rank_.hook) rank_.hook->opsComputed();
    device.end(ops, inputs, std::move(sums));
    stages_.sampleMemory();
    for (std::size_t i = 0; i < ops.size(); ++i) {
        outputs[i].tensor = device.handOver(std::move(outputs[i].tensor));
        outputs[i].sent = rank_.parts.clock.now();
        exchange_.sendOutput(ops[i], std::move(outputs[i]));
    }
    countOps(ops.size());
}

void RankLoop::moveActivations(std::size_t index) {
    for (const Action& action : rank_.moves.before(index)) {
        throwIfEnded(rank_.transport, rank_.run.control);
        const TimeNs nominal = action.kind == ActionKind::Recompute ? forwardTime(action) : TimeNs{0};
        if (rank_.device || nominal == TimeNs{0}) {
            stages_.move(action);
            continue;
        }
        const TimeNs begin = rank_.clock.begin(rank_.clock.freeAt(), nominal);
        stages_.move(action);
        static_cast<void>(rank_.clock.end(begin, nominal));
        static_cast<void>(rank_.clock.hold(begin, nominal));
    }
}

void RankLoop::recomputeFor(std::size_t index) {
    if (const Action* const recompute = rank_.moves.recomputedIn(index)) stages_.move(*recompute);
}

TimeNs RankLoop::forwardTime(const Action& recompute) const {
    return rank_.config.times.opTime(OpKind::Forward, recompute.stage);
}

Message RankLoop::compute(const Op& op, std::optional<Arrival>& input, TimeNs begin) {
    rank_.current = op;
    RankHook* const hook = rank_.hook.get();
    if (hook != nullptr) hook->beginOp(op, rank_.topology.stageOf(op), begin);
    Message output{stages_.compute(op, input), TimeNs{0}};
    if (hook != nullptr && output.tensor.size() > 0) hook->sending(output);
    return output;
}

void RankLoop::runOptimizer() {
    throwIfEnded(rank_.transport, rank_.run.control);
    const std::span<const Op> op{&kOptimizer, 1};
    rank_.current = kOptimizer;
    injectFaults(op);
    // One op updates all of the rank's stages; its nominal time is the first stage's.
    const TimeNs nominal = nominalTime(op);
    TimeNs ready = rank_.clock.freeAt();
    const std::vector<Tensor> sums = exchange_.sumGradients(stages_, kOptimizer, ready);
    applyGradients(sums, ready, nominal);
    update_ = 0;
}

void RankLoop::updateWithin() {
    throwIfEnded(rank_.transport, rank_.run.control);
    const std::span<const Op> op{&kOptimizer, 1};
    rank_.current = kOptimizer;
    injectFaults(op);
    std::vector<Tensor> sums;
    for (int c = 0; c < rank_.schedule.vpp; ++c)
        sums.push_back(stages_.at(rank_.topology.stageOf(Chunk{c})).takeGradient());
    applyGradients(sums, rank_.clock.freeAt(), nominalTime(op));
    ++update_;
}

void RankLoop::applyGradients(const std::vector<Tensor>& sums, TimeNs ready, TimeNs nominal) {
    const std::span<const Op> op{&kOptimizer, 1};
    const bool instant = update_ + 1 < updates_ && rank_.clock.paced() && nominal == TimeNs{0};
    const TimeNs begin = instant ? ready : rank_.clock.begin(ready, nominal);
    rank_.report(Activity::Kind::Computing, kOptimizer, {}, begin + nominal);
    if (rank_.device) rank_.device->begin(op, rank_.paced(nominal));
    for (int c = 0; c < rank_.schedule.vpp; ++c)
        stages_.at(rank_.topology.stageOf(Chunk{c})).applyGradient(sums[Chunk{c}.index()]);
    if (rank_.hook) rank_.hook->weightsWritten();
    if (rank_.device) rank_.device->end(op, {});
    stages_.takeLosses(update_);
    if (rank_.device) return countOps(1);
    if (instant) {
        countOps(1);
        return rank_.record.op({kOptimizer, begin, begin}, {}, rank_.topology.stageOf(kOptimizer), rank_.step);
    }
    stretch(op, begin, nominal);
    holdAndRecord(op, begin, nominal, rank_.clock.end(begin, nominal), TimeNs{0});
}

TimeNs RankLoop::finish() {
    if (!rank_.device) return rank_.clock.freeAt();
    rank_.report(Activity::Kind::Draining);
    return std::max(rank_.clock.freeAt(), rank_.device->finish(rank_.step));
}

void RankLoop::holdAndRecord(std::span<const Op> ops, TimeNs begin, TimeNs nominal, const DeviceClock::End& end,
                             TimeNs exposed) {
    const TimeNs lateness = rank_.clock.hold(begin, nominal);
    rank_.counts.max_lateness = std::max(rank_.counts.max_lateness, lateness);
    countOps(ops.size());
    for (const Op& op : ops) {
        rank_.counts.late_ops += end.moved ? 1 : 0;
        rank_.record.op({op, begin, end.time}, {lateness, TimeNs{0}, exposed}, rank_.topology.stageOf(op), rank_.step);
    }
}

void RankLoop::countOps(std::size_t ops) {
    rank_.counts.ops += static_cast<std::int64_t>(ops);
    rank_.run.control.done.fetch_add(ops, std::memory_order_relaxed);
}

// ---- Sums with the ranks that share the stages

void RankLoop::beginSums(std::span<const Op> ops, TimeNs begin, TimeNs nominal) {
    if (!rank_.sums) return;
    const int sums = stages_.sumsIn(ops);
    const Activity computing = rank_.activity(Activity::Kind::Computing, ops.front(), {}, begin + nominal);
    if (rank_.clock.emulates(nominal)) {
        rank_.sums->beginOp(computing, sums, begin, nominal, rank_.config.times.comm);
    } else {
        rank_.sums->beginOp(computing, sums);
    }
}

TimeNs RankLoop::withSums(TimeNs nominal) const {
    return rank_.sums && rank_.clock.emulates(nominal) ? nominal + rank_.sums->waited() : nominal;
}

void RankLoop::recordSums(const Op& op, std::size_t first) {
    if (!rank_.sums) return;
    for (const TensorGroup::Span& span : rank_.sums->spans().subspan(first))
        rank_.record.summed(op, rank_.topology.stageOf(op), rank_.place.rank, span.start, span.end, rank_.step);
}

// ---- Faults

void RankLoop::injectFaults(std::span<const Op> ops) {
    if (rank_.faults.none()) return;
    for (const Op& op : ops) {
        rank_.current = op;
        const std::optional<FaultKind> last = rank_.faults.endsBefore(op, rank_.step);
        if (last == FaultKind::Hang) hang();
        if (last == FaultKind::Die) die();
        const TimeNs pause = rank_.faults.pauseBefore(op, rank_.step);
        if (pause > TimeNs{0}) rank_.clock.pause(pause);
    }
}

void RankLoop::die() {
    rank_.report(Activity::Kind::Computing, *rank_.current, {}, rank_.parts.clock.now());
    if (rank_.parts.die) rank_.parts.die();
    rank_.transport.fail(
        runError(fmt::format("{}: terminated by an injected fault", rank_.description()), "this is an injected fault"));
    throw RunEnded{};
}

void RankLoop::hang() {
    rank_.report(Activity::Kind::Computing, *rank_.current, {}, rank_.parts.clock.now());
    constexpr TimeNs kAwhile{1'000'000'000};
    while (!rank_.transport.ended()) {
        if (rank_.run.control.stopRequested()) rank_.transport.fail(cancelledError());
        rank_.clock.sleepUntil(rank_.parts.clock.now() + kAwhile);
    }
    throw RunEnded{};
}

TimeNs RankLoop::nominalTime(std::span<const Op> ops) const {
    const CostModel& times = rank_.config.times;
    TimeNs sum{0};
    TimeNs added{0};
    for (const Op& op : ops) {
        const TimeNs time = times.opTime(op.kind, rank_.topology.stageOf(op));
        sum += time;
        // Ops that take the host's time without faults do so with faults too; see stretch().
        if (!rank_.faults.none() && time > TimeNs{0}) added += rank_.faults.opTime(op, rank_.step, time) - time;
    }
    if (ops.size() > 1) {
        const auto alone = [&](const Op& op) { return times.opTime(op.kind, rank_.topology.stageOf(op)); };
        sum = times.pairTime(ops[0].kind, alone(ops[0]), ops[1].kind, alone(ops[1]));
    }
    return std::max(sum + added, TimeNs{0});
}

void RankLoop::stretch(std::span<const Op> ops, TimeNs began, TimeNs nominal) {
    if (rank_.faults.none() || rank_.clock.emulates(nominal)) return;
    const TimeNs took = rank_.parts.clock.now() - began;
    const auto parts = static_cast<std::int64_t>(ops.size());
    TimeNs wanted{0};
    for (const Op& op : ops)
        wanted += rank_.faults.opTime(op, rank_.step, took / parts);
    rank_.clock.sleepUntil(began + wanted);
}

} // namespace bubblescope::runtime
