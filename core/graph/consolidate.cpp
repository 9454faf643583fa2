// The method. What is moved is a unit: an op, or an overlapped pair, whose halves keep their distance, so that
// they start together if they did. Three passes over the units of the step, each moving them later only:
//
// 1. The latest start of every unit, from the end of the window backwards: nothing may pass it, so the
//    makespan holds in all later passes.
// 2. Each rank's steady phase is held back until it can run without a gap: its start is raised to the
//    largest "arrival minus work before it" of its units, all ranks are re-timed, and this repeats until
//    nothing moves. Starts only grow and are capped by pass 1, so it ends; for schedules whose steady
//    phases can be contiguous this is the longest-path solution for rigid blocks, reached after at most
//    one round per rank.
// 3. Cool-down units move to their latest start, with everything else in place. The weight gradients after a
//    rank's last input gradient then follow it at once again: nobody waits for them, and what is idle
//    behind them is the bubble after cool-down.

#include "core/graph/consolidate.h"

#include "core/graph/step_graph.h"

#include <algorithm>
#include <utility>

namespace bubblescope {
namespace {

std::size_t at(OpIndex index) {
    return static_cast<std::size_t>(index);
}

} // namespace

Consolidation::Consolidation(const StepTimeline& step) : step_(&step), order_(step) {
    formUnits();
}

bool Consolidation::assign(const StepTimeline& step) {
    step_ = &step;
    const bool same_order = order_.assign(step);
    if (!same_order) formUnits();
    return same_order;
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
    retime(before_steady);
    std::size_t index = 0;
    for (auto& ops : retimed_.ranks) {
        for (TimelineOp& op : ops) {
            if (op.op.kind == OpKind::Optimizer) continue;
            op.start = observed_[index];
            op.end = op.start + duration_[index];
            ++index;
        }
    }
    return retimed_;
}

std::vector<PerPosition<TimeNs>> Consolidation::bubbles(std::span<const TimeNs> before_steady) {
    if (!possible()) return bubblesByPosition(*step_, order_);
    retime(before_steady);
    return bubblesByPosition(*step_, order_, observed_, duration_);
}

/// Afterwards `observed_` holds the new starts.
void Consolidation::retime(std::span<const TimeNs> before_steady) {
    readTimes();
    findLags();
    findLatest();
    gatherSteady(before_steady);
    gatherCooldown();
    for (std::size_t op = 0; op < observed_.size(); ++op)
        observed_[op] = start_[unit_[op]] + offset_[op];
}

void Consolidation::formUnits() {
    const OpGraph& graph = order_.graph();
    unit_.clear();
    first_op_.clear();
    ranks_.clear();
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
    std::vector<UnitIndex> sequence;
    sequence.reserve(first_op_.size() - 1);
    for (const OpIndex op : execution.order) {
        const OpIndex partner = graph.partner(op);
        if (partner == kNoOp || partner > op) sequence.push_back(unit_[at(op)]);
    }
    linkUnits(std::move(sequence));
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

/// `sequence` is one in which all units can run.
void Consolidation::linkUnits(std::vector<UnitIndex> sequence) {
    const OpGraph& graph = order_.graph();
    constraints_.clear();
    std::vector<TaskIndex> begin{0};
    std::vector<TaskIndex> before;
    const auto link = [&](UnitIndex from, const Constraint& constraint) {
        before.push_back(from);
        constraints_.push_back(constraint);
    };
    for (const UnitIndex unit : sequence) {
        if (graph.previous(firstOp(unit)) != kNoOp) link(unit - 1, {});
        for (OpIndex i = firstOp(unit); i < firstOp(unit + 1); ++i) {
            const auto [stage, own] = graph.producers(i);
            if (stage >= 0) link(unit_[at(stage)], {stage, i, graph.rank(stage) != graph.rank(i)});
            if (own >= 0) link(unit_[at(own)], {own, i, false});
        }
        begin.push_back(static_cast<TaskIndex>(before.size()));
    }
    units_ = TaskGraph(TaskLists(std::move(begin), std::move(before)), std::move(sequence));
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
    start_[kNoTask] = TimeNs::min();
    length_.resize(units);
    offset_.resize(observed_.size());
    for (UnitIndex unit = 0; unit < static_cast<UnitIndex>(units); ++unit) {
        const auto first = at(firstOp(unit));
        const auto last = at(firstOp(unit + 1)) - 1;
        const TimeNs end = std::max(observed_[first] + duration_[first], observed_[last] + duration_[last]);
        const TimeNs start = std::min(observed_[first], observed_[last]);
        start_[unit] = start;
        length_[at(unit)] = end - start;
        for (const std::size_t op : {first, last})
            offset_[op] = observed_[op] - start;
    }
    readLatencies();
}

void Consolidation::readLatencies() {
    const OpGraph& graph = order_.graph();
    latency_.assign(observed_.size(), TimeNs{0});
    for (std::size_t r = 0; r < step_->comm.size(); ++r) {
        for (const CommSpan& span : step_->comm[r]) {
            if (span.kind != CommKind::Receive) continue;
            const OpIndex op = fedBy(span, *step_, graph);
            if (op >= 0 && graph.rank(op) == Rank{r}) latency_[at(op)] = span.end - span.start;
        }
    }
}

/// How long after its producer's end an op could start. A measured latency is used where the trace has one; never more
/// than what was observed, so that the observed timeline itself is feasible.
void Consolidation::findLags() {
    lag_.resize(units_.edges());
    const std::vector<TaskIndex>& sources = units_.edgeSources();
    std::size_t i = 0;
    for (std::size_t place = 0; place < units_.size(); ++place) {
        const UnitIndex unit = units_.taskAt(place);
        for (const std::size_t end = units_.firstEdge(place + 1); i < end; ++i) {
            const UnitIndex before = sources[i];
            const Constraint& each = constraints_[i];
            TimeNs& lag = lag_[i];
            if (each.from == kNoOp) {
                lag = std::min(lengthOf(before), start_[unit] - start_[before]);
                continue;
            }
            const auto from = at(each.from);
            const auto to = at(each.to);
            const TimeNs wanted = each.transfer ? latency_[to] : TimeNs{0};
            const TimeNs passed = std::min(wanted, observed_[to] - (observed_[from] + duration_[from]));
            lag = offset_[from] + duration_[from] + passed - offset_[to];
        }
    }
}

/// Lowers `latest_` from the last unit to the first: limit(unit) is the latest start of a unit, from which those of its
/// predecessors follow.
template <class Limit>
void Consolidation::limitBackwards(Limit limit) {
    latest_.resize(length_.size());
    for (std::size_t unit = 0; unit < length_.size(); ++unit)
        latest_[static_cast<UnitIndex>(unit)] = step_->end - length_[unit];
    backwardPass(
        units_, latest_, [lags = lag_.data()](const EdgePlace& edge) { return lags[edge.edge]; }, limit);
}

/// The latest start of every unit that lets the step end in time.
void Consolidation::findLatest() {
    limitBackwards([this](UnitIndex unit) { return latest_[unit]; });
}

/// Moves units later until every constraint holds again.
void Consolidation::settle() {
    forwardPass(
        units_, start_, [lags = lag_.data()](const EdgePlace& edge) { return lags[edge.edge]; },
        [starts = start_.tasks().data()](UnitIndex unit, TimeNs ready) { return std::max(starts[unit], ready); });
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
            work += lengthOf(i);
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
    return std::max(start_[first], start_[first - 1] + lengthOf(first - 1) + before_steady[r]);
}

void Consolidation::gatherCooldown() {
    settled_ = start_;
    movable_.assign(start_.size(), false);
    for (const RankUnits& rank : ranks_)
        std::fill(movable_.begin() + rank.cooldown, movable_.begin() + rank.end, true);
    // `latest_` as before, but of cool-down alone, with all else in place.
    limitBackwards([this](UnitIndex unit) {
        if (movable_[static_cast<std::size_t>(unit)]) start_[unit] = std::max(start_[unit], latest_[unit]);
        return start_[unit];
    });
    for (const RankUnits& rank : ranks_) {
        for (UnitIndex i = std::max(rank.tail, rank.cooldown); i < rank.end; ++i)
            start_[i] = settled_[i];
    }
    settle();
}

StepTimeline consolidate(const StepTimeline& step, std::span<const TimeNs> before_steady) {
    Consolidation consolidation(step);
    return consolidation.possible() ? consolidation.retimed(before_steady) : step;
}

} // namespace bubblescope
