#include "runtime/checks/rank_checker.h"

#include "runtime/backend/rank_queue.h"

#include <algorithm>

namespace bubblescope::runtime {
namespace {

constexpr std::size_t kEndsToTrust = 3; ///< number of known ends that a prediction requires without nominal times

/// True if a machine has too few cores and other ranks keep all of them busy.
bool crowded(const IdleClock& clock) {
    const std::optional<HostLoad> load = clock.load();
    return load && load->crowded();
}

} // namespace

SlotSchedule::SlotSchedule(const CheckSetup& setup, const Schedule& schedule, Rank rank) {
    const StepTimeline& step = setup.study.timeline();
    const auto& timeline = step.ranks[rank.index()];
    const auto& list = schedule.ranks[rank.index()];
    const auto indexOf = [&](std::size_t op) {
        while (op < timeline.size() && timeline[op].op.kind == OpKind::Optimizer)
            ++op;
        const auto found = op < timeline.size() ? std::ranges::find(list, timeline[op].op) : list.end();
        return static_cast<std::size_t>(found - list.begin());
    };
    for (const Slot& slot : setup.study.plan().ranks[rank.index()].slots)
        slots_.push_back({indexOf(slot.next_op), slot.end});
    if (!setup.holds) return;
    holds_.resize(list.size());
    for (std::size_t op = 0; op < timeline.size(); ++op) {
        if (timeline[op].op.kind != OpKind::Optimizer) holds_[indexOf(op)] = timeline[op].start - step.begin;
    }
}

bool SlotSchedule::hasSlotBefore(std::size_t index) const {
    return std::ranges::any_of(slots_, [&](const PlacedSlot& slot) { return slot.before == index; });
}

std::optional<TimeNs> SlotSchedule::predictedEnd(std::size_t slot, bool emulated) const {
    const std::optional<TimeNs> seen = ends_.shortest(slots_[slot].before, emulated ? 1 : kEndsToTrust);
    return seen || !emulated ? seen : slots_[slot].end;
}

RankChecker::RankChecker(CheckSetup& setup, const RankContext& rank)
    : context_(setup, rank), slots_(setup, rank.schedule, rank.place.rank), costs_(context_), peers_(context_, costs_),
      reexecution_(context_, costs_, peers_), capture_(context_, costs_, reexecution_), state_(context_) {
    if (!setup.measured) return;
    measured_.emplace(setup.study.timeline(), rank.schedule, rank.place.rank, setup.limits,
                      [this](OpKind kind, Stage stage, int layer) {
                          return costs_.measured(kind, context_.setup.layersOf(stage).first + layer);
                      });
    context_.measured = &*measured_;
}

void RankChecker::useDevice(RankQueue& device) {
    device.prepareChecks();
    context_.device = &device;
}

void RankChecker::watch(std::vector<std::pair<Stage, StageModel*>> stages) {
    context_.stages = std::move(stages);
    weightsWritten();
}

void RankChecker::weightsWritten() {
    if (!measured_) return state_.weightsWritten();
    const bool limits = context_.checked_steps.limits();
    if (limits && !context_.checked_steps.isDue(next_step_)) return state_.forgetWeights();
    context_.timed(context_.digest_cost, [&] { state_.weightsWrittenOfOne(limits || context_.digests()); });
}

void RankChecker::beginStep(int step, TimeNs begin) {
    context_.step = step;
    context_.step_begin = begin;
    context_.checked_steps.beginStep(step, begin);
    next_step_ = step + 1;
    checked_.clear();
    if (measured_ && (active() || context_.device != nullptr)) beginMeasuredStep(step, begin);
    capture_.beginStep(active() ? planned() : std::span<const PlannedCheck>());
}

void RankChecker::beginMeasuredStep(int step, TimeNs begin) {
    const int number = step / context_.setup.options.every;
    context_.digest_cost.beginStep(number, begin);
    context_.repeat_cost.beginStep(number, begin);
    const bool first = measured_->beginStep(active() && context_.repeat_cost.done());
    // The frequency of checks is known once steps with some checks have shown their cost.
    if (untold_plan_ && measured_->repeats() && context_.checked_steps.tried()) {
        const int interval = std::max(context_.repeat_cost.interval(), context_.checked_steps.interval());
        context_.setup.planned(context_.rank.world, *measured_->first(), interval);
        untold_plan_ = false;
    }
    untold_plan_ = untold_plan_ || first;
}

std::span<const PlannedCheck> RankChecker::planned() const {
    if (measured_) return measured_->checks();
    return context_.plan().checksOf(context_.step / context_.setup.options.every);
}

void RankChecker::sending(Message& message) {
    if (context_.digests()) context_.timed(context_.digest_cost, [&] { state_.sign(capture_.output(), message); });
}

void RankChecker::opsComputed() {
    context_.timed(context_.digest_cost, [&] { context_.queueOpDigests(); });
}

void RankChecker::sendingGradients(Stage stage, Message& message) {
    if (context_.digests()) context_.timed(context_.digest_cost, [&] { state_.signGradients(stage, message); });
}

void RankChecker::received(const Op& op, Stage stage, Tensor& tensor, const Arrival& arrival) {
    if (context_.digests())
        context_.timed(context_.digest_cost, [&] { state_.checkReceived(op, stage, tensor, arrival); });
}

void RankChecker::receivedGradients(Stage stage, Arrival& arrival) {
    if (context_.digests())
        context_.timed(context_.digest_cost, [&] { state_.checkReceivedGradients(stage, arrival); });
}

void RankChecker::inputsReady(std::size_t index, TimeNs ready, std::optional<TimeNs> idle_since) {
    if (!measured_) {
        // In steps without checks the plan does not delay ops, so their ends are not representative.
        if (context_.active()) slots_.ended(index, ready - context_.step_begin);
        return;
    }
    if (idle_since) {
        // On a device a late check delays the ends of later bubbles, which would then seem longer.
        if (measured_->repeats()) return;
        measured_->idleSince(index, *idle_since);
    }
    measured_->inputsReady(index, ready);
}

bool RankChecker::hasWork(std::size_t index) const {
    if (!measured_) return slots_.hasSlotBefore(index);
    if (context_.device == nullptr) return true;
    // A check keeps the host from queueing ahead.
    if (!measured_->repeats() || measured_->room(index) <= TimeNs{0}) return false;
    const std::optional<std::size_t> slot = measured_->slotBefore(index);
    return index == 0 || isLast(index) ||
           std::ranges::any_of(planned(), [&](const PlannedCheck& check) { return slot && check.slot == *slot; });
}

void RankChecker::onIdle(std::size_t index, IdleClock& clock) {
    context_.emulated = clock.emulates();
    if (measured_) return onMeasuredIdle(index, clock);
    for (std::size_t s = 0; s < slots_.size(); ++s) {
        if (slots_.endsBefore(s) != index) continue;
        const std::optional<TimeNs> predicted = slots_.predictedEnd(s, context_.emulated);
        const TimeNs end = predicted ? context_.step_begin + *predicted : TimeNs{0};
        if (index == 0) state_.checkKnownAnswers(end, clock);
        for (const PlannedCheck& check : planned()) {
            if (check.slot == s) runPlanned(check, index, end, clock);
        }
        if (s + 1 == slots_.size()) state_.checkWeights(end, clock);
        if (!clock.arrived()) context_.setup.broker->onIdle(end - clock.now());
        while (peers_.checkForOthers(end, clock)) {
        }
    }
}

void RankChecker::onMeasuredIdle(std::size_t index, IdleClock& clock) {
    const TimeNs began = clock.now();
    if (context_.device == nullptr) measured_->idleSince(index, began);
    if (measured_->measures()) {
        const std::optional<HostLoad> load = clock.load();
        const bool cores_short = load && load->coresAreShort();
        measured_->setCoresShort(cores_short);
        if (cores_short) watchCores(index, began, clock);
        return;
    }
    const TimeNs room = measured_->room(index);
    if (room <= TimeNs{0}) return;
    const TimeNs end = began + room;
    if (index == 0 && measured_->repeats() && room >= StateChecks::knownAnswersTime())
        state_.checkKnownAnswers(end, clock);
    const std::optional<std::size_t> slot = measured_->slotBefore(index);
    for (const PlannedCheck& check : planned()) {
        if (slot && check.slot == *slot) runPlanned(check, index, end, clock);
    }
    if (isLast(index) && clock.now() + state_.weightsTime() <= end && !crowded(clock)) state_.checkWeights(end, clock);
    if (crowded(clock) || over(index, clock)) return;
    context_.setup.broker->onIdle(end - clock.now());
    while (!crowded(clock) && peers_.checkForOthers(end, clock)) {
    }
}

void RankChecker::watchCores(std::size_t index, TimeNs began, IdleClock& clock) {
    constexpr TimeNs kOften{50'000};
    constexpr TimeNs kLongest{1'000'000'000};
    while (!crowded(clock) && !over(index, clock) && clock.now() - began < kLongest)
        clock.nap(kOften);
    measured_->freeUntil(index, clock.now());
}

bool RankChecker::over(std::size_t index, IdleClock& clock) const {
    if (clock.arrived()) return true;
    // After the last op the ends of other ranks cannot be seen, but on one machine the load shows when all ranks have
    // finished.
    const std::optional<HostLoad> load = clock.load();
    return isLast(index) && load && load->ranks == context_.rank.mesh.ranks() && load->busy == 0;
}

void RankChecker::runPlanned(const PlannedCheck& check, std::size_t index, TimeNs end, IdleClock& clock) {
    const CheckUnit& unit = context_.plan().units[check.unit];
    const Op op = context_.timeline()[check.op].op;
    const Stage stage = context_.stageOf(unit.chunk);
    const int layer = context_.setup.layersOf(stage).first + unit.layer;
    const bool again = !checked_.insert(check.unit).second;
    if (again && swap(unit, op, layer, end, clock)) return;
    CheckRecord record = context_.recordOf(CheckKind::Replay, op, layer, CheckedTensor::Output);
    record.start = record.end = clock.now();
    record.outcome = CheckOutcome::Skipped;
    const std::vector<CapturedLayer>* const parts = capture_.find(op, layer);
    TimeNs cost{0};
    for (std::size_t i = 0; parts != nullptr && i < parts->size(); ++i)
        cost += costs_.of((*parts)[i], unit.cost);
    const TimeNs needed = timeNeeded(cost, context_.setup.options.margin);
    const bool no_core = measured_ && crowded(clock);
    if (no_core) measured_->freeUntil(index, clock.now());
    if (parts == nullptr || clock.now() + needed > end || no_core || clock.arrived()) {
        if (measured_) measured_->missed(index);
        return context_.write(record, CheckedTensor::Output, stage);
    }
    const bool done = reexecution_.check(capture_.take(op, layer), std::move(record), unit.cost, clock);
    if (measured_) done ? measured_->checked(index, check.unit) : measured_->missed(index);
}

bool RankChecker::swap(const CheckUnit& unit, const Op& op, int layer, TimeNs end, IdleClock& clock) {
    if (!context_.setup.options.elsewhere) return false;
    const std::vector<CapturedLayer>* const parts = capture_.find(op, layer);
    if (parts == nullptr) return false;
    for (const CapturedLayer& part : *parts)
        peers_.offer(part, unit.cost);
    const TimeNs until = clock.now() + timeNeeded(unit.cost, context_.setup.options.margin);
    if (!peers_.checkForOthers(std::min(end, until), clock)) return false;
    static_cast<void>(capture_.take(op, layer));
    return true;
}

void RankChecker::onOpsDone(std::span<const DoneOp> done, IdleClock& clock) {
    context_.settle(done);
    capture_.tryOnDevice(clock);
    // The first execution of known answers also takes a long time. In bubbles that are only as long as ops, it would
    // delay a step.
    if (!tried_answers_ && !clock.emulates()) state_.checkKnownAnswers(TimeNs::max(), clock);
    tried_answers_ = true;
}

AttachHook attachChecks(CheckSetup* setup) {
    if (setup == nullptr) return {};
    return [setup](const RankContext& rank) { return std::make_shared<RankChecker>(*setup, rank); };
}

} // namespace bubblescope::runtime
