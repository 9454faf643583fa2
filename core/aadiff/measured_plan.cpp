#include "core/aadiff/measured_plan.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

// Tolerates two consecutive checks that do not fit, and after that an occasional one.
constexpr double kLeastTrust = 0.6;
constexpr double kAfterMiss = 0.75; ///< factor
constexpr double kAfterCheck = 0.1; ///< added
constexpr double kAfterStep = 0.01; ///< added
constexpr int kAgain = 33;          ///< step of a round at which measuring starts again; the eight steps from there on
                                    ///< include none with rare checks (CheckCost)
constexpr TimeNs kAnOp{1'000};      ///< the timeline needs the order of ops, but not their times

} // namespace

MeasuredPlan::MeasuredPlan(const StepTimeline& step, const Schedule& schedule, Rank rank, PlanLimits limits,
                           LayerTime time_of)
    : rank_(rank), limits_(std::move(limits)), time_of_(std::move(time_of)), step_(step) {
    const std::vector<Op>& list = schedule.ranks[rank.index()];
    for (auto& ops : step_.ranks)
        ops.clear();
    step_.comm.assign(step_.ranks.size(), {});
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].kind == OpKind::Optimizer) continue;
        step_.ranks[rank.index()].push_back({list[i], TimeNs{0}, TimeNs{0}});
        index_.push_back(i);
    }
    places_.resize(list.size() + 1);
}

bool MeasuredPlan::beginStep(bool repeats) {
    for (Place& place : places_)
        place.since.reset();
    const int number = steps_++;
    const int of_round = number % kRound;
    measures_ = number < kMeasuredSteps || (short_ && of_round >= kAgain && of_round < kAgain + kMeasuredSteps);
    repeats_ = repeats && !measures_;
    if (!repeats_) return false;
    for (Place& place : places_)
        place.trust = std::min(1.0, place.trust + kAfterStep);
    const bool first = !first_;
    if (first || ++since_plan_ >= kPlannedSteps || missed_) renew();
    return first;
}

std::span<const PlannedCheck> MeasuredPlan::checks() const {
    return repeats_ ? plan_.checksOf(since_plan_) : std::span<const PlannedCheck>();
}

std::optional<std::size_t> MeasuredPlan::slotBefore(std::size_t index) const {
    for (std::size_t s = 0; s < plan_.slots.size(); ++s) {
        const std::size_t op = plan_.slots[s].next_op;
        if ((op < index_.size() ? index_[op] : places_.size() - 1) == index) return s;
    }
    return std::nullopt;
}

TimeNs MeasuredPlan::room(std::size_t index) const {
    const std::optional<TimeNs> idle = idle_.shortest(index, kMeasuredSteps);
    if (!idle || places_[index].trust < kLeastTrust) return TimeNs{0};
    const TimeNs room = short_ ? std::min(*idle, free_.shortest(index, 1).value_or(TimeNs{0})) : *idle;
    return BubbleForecast::usable(room);
}

void MeasuredPlan::inputsReady(std::size_t index, TimeNs ready) {
    Place& place = places_[index];
    if (place.since) idle_.add(index, ready - *std::exchange(place.since, std::nullopt));
}

void MeasuredPlan::missed(std::size_t index) {
    missed_ = true;
    places_[index].trust *= kAfterMiss;
}

void MeasuredPlan::checked(std::size_t index, std::size_t unit) {
    last_checks_[unit] = ++checks_;
    places_[index].trust = std::min(1.0, places_[index].trust + kAfterCheck);
}

void MeasuredPlan::freeUntil(std::size_t index, TimeNs now) {
    if (places_[index].since) free_.add(index, now - *places_[index].since);
}

PlanLimits MeasuredPlan::limitsNow() const {
    PlanLimits limits = limits_;
    const std::vector<TimelineOp>& ops = timeline();
    for (const TimelineOp& op : ops) {
        const Stage stage = step_.stageOf(rank_, op.op.chunk);
        for (int layer = 0; layer < limits.layers[stage.index()]; ++layer) {
            const auto [known, added] = limits.layer_times.try_emplace({stage, op.op.kind, layer}, TimeNs{0});
            if (!added) continue;
            const std::optional<TimeNs> time = time_of_(op.op.kind, stage, layer);
            if (time)
                known->second = *time;
            else
                limits.left_out.insert({stage, layer});
        }
    }
    return limits;
}

void MeasuredPlan::renew() {
    std::vector<Slot> slots;
    std::vector<TimelineOp>& ops = step_.ranks[rank_.index()];
    TimeNs now{0};
    const auto bubble = [&](std::size_t next, std::size_t index) {
        const TimeNs room = this->room(index);
        // Before its first op, the rank has run nothing that could be re-executed; known-answer tests run there.
        if (room > TimeNs{0} && next > 0)
            slots.push_back(
                {.rank = rank_, .position = Position::InsideSteady, .start = now, .end = now + room, .next_op = next});
        now += room;
    };
    for (std::size_t i = 0; i < ops.size(); ++i) {
        bubble(i, index_[i]);
        ops[i].start = now;
        ops[i].end = now += kAnOp;
    }
    bubble(ops.size(), places_.size() - 1);
    step_.begin = TimeNs{0};
    step_.end = now;
    PlanLimits limits = limitsNow();
    if (!first_) {
        first_ = planMoreChecks(slots, step_, rank_, {}, limits, {});
        last_checks_.assign(first_->units.size(), 0);
    }
    limits.max_steps = kPlannedSteps;
    plan_ = planMoreChecks(std::move(slots), step_, rank_, {}, limits, last_checks_);
    since_plan_ = 0;
    missed_ = false;
}

} // namespace bubblescope
