// The method. What is moved is a unit: an op, or an overlapped pair, whose halves keep their distance, so that
// they start together if they did. Three passes over the units of the step, each moving them later only:
//
// 1. The latest start of every unit, from the end of the window backwards: nothing may pass it, so the
//    makespan holds whatever the other passes do.
// 2. Each rank's steady phase is held back until it can run without a gap: its start is raised to the
//    largest "arrival minus work before it" of its units, all ranks are re-timed, and this repeats until
//    nothing moves. Starts only grow and are capped by pass 1, so it ends; for schedules whose steady
//    phases can be contiguous this is the longest-path solution for rigid blocks, reached after at most
//    one round per rank.
// 3. Cool-down units move to their latest start, with everything else in place. The weight gradients after a
//    rank's last input gradient then follow it at once again: nobody waits for them, and what is idle
//    behind them is the bubble after cool-down.

#include "core/bubble/consolidate.h"

#include <algorithm>

namespace bubblescope {
namespace {

std::size_t at(OpIndex index) {
    return static_cast<std::size_t>(index);
}

} // namespace

Consolidation::Consolidation(const StepTimeline& step) : step_(&step), order_(step) {
    formUnits();
}

void Consolidation::assign(const StepTimeline& step) {
    step_ = &step;
    if (!order_.assign(step)) formUnits();
}

bool Consolidation::possible() const {
    return runnable_ && order_.graph().size() > 0 && order_.graph().rankCount() == step_->pp;
}

const StepTimeline& Consolidation::retimed(std::span<const TimeNs> before_steady) {
    const StepTimeline& step = *step_;
    retimed_.index = step.index;
    retimed_.replica = step.replica;
    retimed_.pp = step.pp;
    retimed_.microbatches = step.microbatches;
    retimed_.vpp = step.vpp;
    retimed_.placement = step.placement;
    retimed_.begin = step.begin;
    retimed_.end = step.end;
    retimed_.ranks = step.ranks;
    retimed_.comm.resize(step.ranks.size()); // transfers are not re-timed, so they would not fit
    if (!possible()) return retimed_;
    readTimes();
    findLags();
    findLatest();
    gatherSteady(before_steady);
    gatherCooldown();
    writeTimes();
    return retimed_;
}

void Consolidation::formUnits() {
    const OpGraph& graph = order_.graph();
    unit_.clear();
    first_op_.clear();
    ranks_.clear();
    sequence_.clear();
    const ExecutionOrder execution = executionOrder(graph);
    runnable_ = execution.blocked.empty();
    if (!possible()) return;
    for (OpIndex i = 0; i < graph.size(); ++i) {
        const OpIndex partner = graph.partner(i);
        if (partner == kNoOp || partner > i) first_op_.push_back(i);
        unit_.push_back(static_cast<UnitIndex>(first_op_.size() - 1));
    }
    first_op_.push_back(graph.size());
    for (int r = 0; r < step_->pp; ++r)
        findRankUnits(Rank{r});
    linkUnits();
    for (const OpIndex op : execution.order) {
        const OpIndex partner = graph.partner(op);
        if (partner == kNoOp || partner > op) sequence_.push_back(unit_[at(op)]);
    }
}

void Consolidation::findRankUnits(Rank rank) {
    const OpGraph& graph = order_.graph();
    const OpIndex first = graph.firstOf(rank);
    const UnitIndex begin = ranks_.empty() ? 0 : ranks_.back().end;
    const UnitIndex end = graph.endOf(rank) == first ? begin : unit_[at(graph.endOf(rank) - 1)] + 1;
    const std::vector<Op>& ops = order_.schedule().ranks[rank.index()];
    UnitIndex tail = begin;
    for (OpIndex i = first; i < graph.endOf(rank); ++i) {
        if (producesInputGradient(graph.op(i).kind)) tail = unit_[at(i)] + 1;
    }
    const auto unit = [&](std::size_t index) { return index < ops.size() ? unit_[at(first) + index] : end; };
    const Phases phases = findPhases(ops);
    ranks_.push_back({begin, unit(phases.steady), unit(phases.cooldown), tail, end});
}

void Consolidation::linkUnits() {
    const OpGraph& graph = order_.graph();
    constraints_.clear();
    constraints_of_.clear();
    for (OpIndex i = 0; i < graph.size(); ++i) {
        const UnitIndex unit = unit_[at(i)];
        if (unit == constraints_of_.size()) {
            constraints_of_.push_back(static_cast<std::uint32_t>(constraints_.size()));
            if (graph.previous(i) != kNoOp) constraints_.push_back({unit - 1, kNoOp, kNoOp, false, {}});
        }
        const auto [stage, own] = graph.producers(i);
        if (stage >= 0) constraints_.push_back({unit_[at(stage)], stage, i, graph.rank(stage) != graph.rank(i), {}});
        if (own >= 0) constraints_.push_back({unit_[at(own)], own, i, false, {}});
    }
    constraints_of_.push_back(static_cast<std::uint32_t>(constraints_.size()));
}

void Consolidation::readTimes() {
    observed_.clear();
    duration_.clear();
    for (const auto& ops : step_->ranks) {
        for (const TimelineOp& op : ops) {
            if (op.op.kind == OpKind::Optimizer) continue;
            observed_.push_back(op.start);
            duration_.push_back(op.duration());
        }
    }
    const std::size_t units = first_op_.size() - 1;
    start_.resize(units);
    length_.resize(units);
    offset_.resize(observed_.size());
    for (std::size_t unit = 0; unit < units; ++unit) {
        const auto first = at(first_op_[unit]);
        const auto last = at(first_op_[unit + 1]) - 1;
        const TimeNs end = std::max(observed_[first] + duration_[first], observed_[last] + duration_[last]);
        start_[unit] = std::min(observed_[first], observed_[last]);
        length_[unit] = end - start_[unit];
        for (const std::size_t op : {first, last})
            offset_[op] = observed_[op] - start_[unit];
    }
    readLatencies();
}

void Consolidation::readLatencies() {
    const OpGraph& graph = order_.graph();
    latency_.assign(observed_.size(), TimeNs{0});
    for (std::size_t r = 0; r < step_->comm.size(); ++r) {
        for (const CommSpan& span : step_->comm[r]) {
            if (span.kind != CommKind::Receive) continue;
            const bool known = span.microbatch.value >= 0 && span.microbatch.value < step_->microbatches &&
                               span.stage.value >= 0 && span.stage.value < step_->pp * step_->vpp &&
                               span.sequence >= 0 && span.sequence < graph.sequenceSlices();
            if (!known) continue;
            const OpKind fed = span.payload == Payload::Activation ? OpKind::Forward : OpKind::Backward;
            const OpIndex op = graph.find(fed, span.microbatch, span.stage, span.sequence);
            if (op >= 0 && graph.rank(op) == Rank{r}) latency_[at(op)] = span.end - span.start;
        }
    }
}

/// How long after its producer's end an op could start. A measured latency is used where the trace has one; never more
/// than what was observed, so that the observed timeline itself is feasible.
void Consolidation::findLags() {
    for (std::size_t unit = 0; unit + 1 < constraints_of_.size(); ++unit) {
        for (std::size_t i = constraints_of_[unit]; i < constraints_of_[unit + 1]; ++i) {
            Constraint& each = constraints_[i];
            if (each.from == kNoOp) {
                each.lag = std::min(length_[each.before], start_[unit] - start_[each.before]);
                continue;
            }
            const auto from = at(each.from);
            const auto to = at(each.to);
            const TimeNs wanted = each.transfer ? latency_[to] : TimeNs{0};
            const TimeNs passed = std::min(wanted, observed_[to] - (observed_[from] + duration_[from]));
            each.lag = offset_[from] + duration_[from] + passed - offset_[to];
        }
    }
}

/// The latest start of every unit that lets the step end in time.
void Consolidation::findLatest() {
    latest_.resize(length_.size());
    for (std::size_t unit = 0; unit < latest_.size(); ++unit)
        latest_[unit] = step_->end - length_[unit];
    for (auto unit = sequence_.rbegin(); unit != sequence_.rend(); ++unit) {
        for (const Constraint& each : constraints(*unit))
            latest_[each.before] = std::min(latest_[each.before], latest_[*unit] - each.lag);
    }
}

/// Moves units later until every constraint holds again.
void Consolidation::settle() {
    for (const UnitIndex unit : sequence_) {
        TimeNs start = start_[unit];
        for (const Constraint& each : constraints(unit))
            start = std::max(start, start_[each.before] + each.lag);
        start_[unit] = start;
    }
}

void Consolidation::gatherSteady(std::span<const TimeNs> before_steady) {
    const int rounds = 2 * step_->pp + 8; // blocks need one round a rank; jitter may ask for a few more
    for (int round = 0; round < rounds && holdBackSteady(before_steady); ++round)
        settle();
}

/// Raises the start of each rank's steady phase to where it could run without a gap; true if any moved.
bool Consolidation::holdBackSteady(std::span<const TimeNs> before_steady) {
    bool moved = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const RankUnits& rank = ranks_[r];
        if (!rank.hasSteady()) continue;
        TimeNs work{0};
        TimeNs contiguous = wantedSteadyStart(r, before_steady);
        for (UnitIndex i = rank.steady; i < rank.cooldown; ++i) {
            contiguous = std::max(contiguous, start_[i] - work);
            work += length_[i];
        }
        contiguous = std::min(contiguous, latest_[rank.steady]);
        if (contiguous > start_[rank.steady]) {
            start_[rank.steady] = contiguous;
            moved = true;
        }
    }
    return moved;
}

/// Where `before_steady` would have the steady phase start, but not before it could.
TimeNs Consolidation::wantedSteadyStart(std::size_t r, std::span<const TimeNs> before_steady) const {
    const UnitIndex first = ranks_[r].steady;
    if (r >= before_steady.size() || first == ranks_[r].begin) return start_[first];
    return std::max(start_[first], start_[first - 1] + length_[first - 1] + before_steady[r]);
}

void Consolidation::gatherCooldown() {
    settled_ = start_;
    std::vector<TimeNs>& latest = latest_; // as before, but of cool-down alone, with all else in place
    for (std::size_t unit = 0; unit < latest.size(); ++unit)
        latest[unit] = step_->end - length_[unit];
    std::vector<bool> movable(start_.size(), false);
    for (const RankUnits& rank : ranks_)
        std::fill(movable.begin() + rank.cooldown, movable.begin() + rank.end, true);
    for (auto unit = sequence_.rbegin(); unit != sequence_.rend(); ++unit) {
        if (movable[*unit]) start_[*unit] = std::max(start_[*unit], latest[*unit]);
        for (const Constraint& each : constraints(*unit))
            latest[each.before] = std::min(latest[each.before], start_[*unit] - each.lag);
    }
    for (const RankUnits& rank : ranks_) {
        for (UnitIndex i = std::max(rank.tail, rank.cooldown); i < rank.end; ++i)
            start_[i] = settled_[i];
    }
    settle();
}

void Consolidation::writeTimes() {
    std::size_t index = 0;
    for (auto& ops : retimed_.ranks) {
        for (TimelineOp& op : ops) {
            if (op.op.kind == OpKind::Optimizer) continue;
            op.start = start_[unit_[index]] + offset_[index];
            op.end = op.start + duration_[index];
            ++index;
        }
    }
}

StepTimeline consolidate(const StepTimeline& step, std::span<const TimeNs> before_steady) {
    Consolidation consolidation(step);
    return consolidation.possible() ? consolidation.retimed(before_steady) : step;
}

} // namespace bubblescope
