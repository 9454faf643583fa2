// Method. A unit is an op, or an overlapped pair whose halves keep their distance, so that they start together if they
// did before. Three passes over the units of the step move them only later:
//
// 1. Find the latest start of every unit, from the end of the window backwards. No unit may pass it, so the makespan
//    holds in all later passes.
// 2. Delay each rank's steady phase until it can run without a gap: raise its start to the largest "arrival minus
//    work before it" of its units, re-time all ranks, and repeat until nothing moves. Starts only grow and are capped
//    by pass 1, so this terminates. For schedules whose steady phases can be contiguous, the result is the longest-path
//    solution for rigid blocks, reached after at most one round per rank.
// 3. Move cool-down units to their latest start, leaving everything else in place. The weight gradients after a
//    rank's last input gradient then follow it immediately again: no rank waits for them, and the idle time after them
//    is the bubble after cool-down.

#include "core/graph/consolidate.h"

#include "core/base/large_list.h"
#include "core/base/parallel.h"
#include "core/graph/step_graph.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace bubblescope {
namespace {

std::size_t at(OpIndex index) {
    return static_cast<std::size_t>(index);
}

} // namespace

Consolidation::Consolidation(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran)
    : step_(&step), ran_(ran != nullptr ? std::move(ran) : executedUnits(step)) {
    findPhasesOfUnits();
}

bool Consolidation::assign(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran) {
    step_ = &step;
    if (ran == nullptr) ran = executedUnits(step, ran_);
    const bool same_order = ran == ran_;
    ran_ = std::move(ran);
    if (!same_order) findPhasesOfUnits();
    return same_order;
}

bool Consolidation::possible() const {
    return ran_->runnable() && units().size() > 0 && units().ops->rankCount() == step_->pp;
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
    retimed_.details = step.details;
    retimed_.comm.resize(step.ranks.size()); // transfers are not re-timed and would not match
    if (!possible()) return retimed_;
    retime(before_steady);
    std::size_t index = 0;
    for (auto& ops : retimed_.ranks) {
        for (TimelineOp& op : ops) {
            if (op.op.kind == OpKind::Optimizer) continue;
            op.end = moved_[index] + op.duration();
            op.start = moved_[index];
            ++index;
        }
    }
    return retimed_;
}

std::vector<PerPosition<TimeNs>> Consolidation::bubbles(std::span<const TimeNs> before_steady) {
    if (!possible()) return bubblesByPosition(*step_, order());
    retime(before_steady);
    return bubblesByPosition(*step_, order(), moved_);
}

/// Afterwards `moved_` holds the new starts.
void Consolidation::retime(std::span<const TimeNs> before_steady) {
    readTimes();
    findLags();
    findLatest();
    gatherSteady(before_steady);
    gatherCooldown();
    const OpGraph& graph = *units().ops;
    moved_.swap(latency_); // the lags were already computed from the latencies
    parallelGroups(step_->ranks.size(), moved_.size(), [&](std::size_t r) {
        OpIndex op = graph.firstOf(Rank{r});
        for (const UnitIndex unit : units().unitsOf(Rank{r})) {
            moved_[at(op)] = start_[unit] + (sides() == 1 ? TimeNs{0} : halfOf(op).begin);
            ++op;
        }
    });
}

void Consolidation::findPhasesOfUnits() {
    part_.clear();
    ranks_.clear();
    if (!possible()) return;
    part_.resize(at(units().size()));
    ranks_.resize(at(step_->pp));
    parallelGroups(ranks_.size(), part_.size(), [this](std::size_t r) { findRankUnits(Rank{r}); });
}

void Consolidation::findRankUnits(Rank rank) {
    const std::span<const Op> ops = units().ops->opsOf(rank);
    const std::span<const UnitIndex> of_op = units().unitsOf(rank);
    std::size_t tail = 0; // after the last input gradient
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (producesInputGradient(ops[i].kind)) tail = i + 1;
    }
    // Both halves of a pair that spans a border belong to the part after it, but the pair of the last gradient is
    // before the tail.
    const auto firstHalf = [&](std::size_t i) {
        return i > 0 && i < ops.size() && of_op[i] == of_op[i - 1] ? i - 1 : i;
    };
    if (tail > 0 && tail < ops.size() && of_op[tail] == of_op[tail - 1]) ++tail;
    const Phases phases = findPhases(ops);
    const std::size_t steady = firstHalf(phases.steady);
    const std::size_t cooldown = firstHalf(phases.cooldown);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        part_[at(of_op[i])] = i < steady     ? Part::WarmUp
                              : i < cooldown ? Part::Steady
                              : i < tail     ? Part::Cooldown
                                             : Part::Tail;
    }
    if (steady >= cooldown) return;
    ranks_[rank.index()] = {steady > 0 ? of_op[steady - 1] : kNoUnit, of_op[steady]};
}

OpIndex Consolidation::opOf(std::size_t unit, std::size_t side) const {
    return units().ops->firstOf(Rank{units().rank[unit]}) + units().op[unit] + static_cast<OpIndex>(side);
}

/// Returns the half for an op of a step with pairs.
Consolidation::Half Consolidation::halfOf(OpIndex op) const {
    const bool second = units().ops->partner(op) != kNoOp && units().ops->partner(op) < op;
    return halves_[second ? 1 : 0][at(units().unit_of[at(op)])];
}

void Consolidation::readTimes() {
    const std::size_t size = at(units().size());
    start_.resize(size);
    start_[kNoTask] = TimeNs::min();
    resizeLarge(length_, size);
    for (std::vector<Half>& half : halves_)
        half.resize(sides() == 1 ? 0 : size);
    parallelGroups(step_->ranks.size(), size, [this](std::size_t r) { readRank(r); });
    readLatencies();
}

void Consolidation::readRank(std::size_t r) {
    TimeNs* const starts = start_.tasks().data();
    const auto set = [&](UnitIndex unit, TimeNs start, TimeNs end) {
        starts[unit] = start;
        length_[at(unit)] = end - start;
    };
    const std::span<const UnitIndex> of_op = units().unitsOf(Rank{r});
    const TimelineOp* first = nullptr; // the first half, if the op is a second one
    std::size_t i = 0;
    for (const TimelineOp& op : step_->ranks[r]) {
        if (op.op.kind == OpKind::Optimizer) continue;
        const UnitIndex unit = of_op[i];
        const bool opens = i + 1 < of_op.size() && of_op[i + 1] == unit;
        if (first == nullptr) {
            set(unit, op.start, op.end);
            if (!halves_[0].empty()) halves_[0][at(unit)] = {TimeNs{0}, op.end - op.start};
        } else {
            const TimeNs start = std::min(first->start, op.start);
            set(unit, start, std::max(first->end, op.end));
            halves_[0][at(unit)] = {first->start - start, first->end - start};
            halves_[1][at(unit)] = {op.start - start, op.end - start};
        }
        first = opens && first == nullptr ? &op : nullptr;
        ++i;
    }
}

void Consolidation::readLatencies() {
    const OpGraph& graph = *units().ops;
    if (latency_.empty()) latency_.swap(moved_);
    resizeLarge(latency_, at(graph.size()));
    parallelGroups(step_->ranks.size(), latency_.size(), [&](std::size_t r) {
        const auto begin = latency_.begin();
        std::fill(begin + graph.firstOf(Rank{r}), begin + graph.endOf(Rank{r}), TimeNs{0});
        if (r >= step_->comm.size()) return;
        for (const CommSpan& span : step_->comm[r]) {
            if (span.kind != CommKind::Receive) continue;
            const OpIndex op = fedBy(span, *step_, graph);
            if (op >= 0 && graph.rank(op) == Rank{r}) latency_[at(op)] = span.end - span.start;
        }
    });
}

/// Finds each op's lag: the time from its producer's end to the op's earliest start. Uses a measured latency if the
/// trace has one, but never more than what was observed, so that the observed timeline itself is feasible.
void Consolidation::findLags() {
    const TaskGraph& tasks = units().tasks;
    const OpGraph& graph = *units().ops;
    const std::vector<TaskIndex>& sources = tasks.edgeSources();
    const TimeNs* const starts = start_.tasks().data();
    resizeLarge(lag_, tasks.edges());
    std::atomic<bool> overlap{false};
    parallelPieces(tasks.size(), [&](std::size_t from, std::size_t to) {
        bool overlap_here = false;
        for (std::size_t unit = from; unit < to; ++unit) {
            const std::size_t row = unit * tasks.width();
            const UnitIndex before = sources[row];
            lag_[row] = TimeNs{0};
            if (before != kNoUnit) {
                const TimeNs apart = starts[unit] - starts[before];
                lag_[row] = std::min(lengthOf(before), apart);
                overlap_here |= apart < lengthOf(before) || lengthOf(before) < TimeNs{0};
            }
            for (std::size_t side = 0; side < sides(); ++side) {
                const UnitIndex source = sources[row + 1 + side];
                TimeNs& lag = lag_[row + 1 + side];
                lag = TimeNs{0};
                if (source == kNoUnit) continue;
                const bool crosses = units().way[side][unit] >= Way::Activation;
                const bool joined = side > units().pair[unit]; // the second input of a single op
                const OpIndex op = opOf(unit, joined ? 0 : side);
                Half from_half{TimeNs{0}, lengthOf(source)};
                Half to_half{TimeNs{0}, lengthOf(static_cast<UnitIndex>(unit))};
                if (sides() == 2) {
                    from_half = halfOf(joined ? graph.joinedInput(op) : graph.producers(op).stage);
                    to_half = halves_[joined ? 0 : side][unit];
                }
                const TimeNs passed = std::min(crosses ? latency_[at(op)] : TimeNs{0},
                                               starts[unit] + to_half.begin - (starts[source] + from_half.end));
                lag = from_half.end + passed - to_half.begin;
            }
        }
        if (overlap_here) overlap.store(true, std::memory_order_relaxed);
    });
    own_inputs_.clear();
    if (overlap) findOwnInputs();
}

void Consolidation::findOwnInputs() {
    const OpGraph& graph = *units().ops;
    for (std::size_t unit = 0; unit < length_.size(); ++unit) {
        for (std::size_t side = 0; side <= units().pair[unit]; ++side) {
            const OpIndex op = opOf(unit, side);
            const OpIndex own = graph.producers(op).own;
            if (own < 0) continue;
            const UnitIndex from = units().unit_of[at(own)];
            const Half from_half = sides() == 2 ? halfOf(own) : Half{TimeNs{0}, lengthOf(from)};
            const TimeNs begin = sides() == 2 ? halves_[side][unit].begin : TimeNs{0};
            const auto to = static_cast<UnitIndex>(unit);
            const TimeNs passed = std::min(TimeNs{0}, start_[to] + begin - (start_[from] + from_half.end));
            own_inputs_.push_back({to, from, from_half.end + passed - begin});
        }
    }
}

/// Lowers `latest_` from the last unit to the first. limit(unit, latest) returns the latest start of a unit whose
/// successors all allow `latest`; the latest starts of its predecessors follow from it.
template <class Limit>
void Consolidation::limitBackwards(Limit limit) {
    latest_.resize(length_.size());
    TimeNs* const latest = latest_.tasks().data();
    for (std::size_t unit = 0; unit < length_.size(); ++unit)
        latest[unit] = step_->end - length_[unit];
    auto own = own_inputs_.rbegin();
    backwardPass(
        units().tasks, latest_, [lags = lag_.data()](const EdgePlace& edge) { return lags[edge.edge]; },
        [&](UnitIndex unit) {
            const TimeNs last = limit(unit, latest[unit]);
            for (; own != own_inputs_.rend() && own->unit == unit; ++own)
                latest[own->from] = std::min(latest[own->from], last - own->lag);
            return last;
        });
}

/// Finds the latest start of every unit that lets the step end in time.
void Consolidation::findLatest() {
    limitBackwards([](UnitIndex, TimeNs latest) { return latest; });
}

/// Moves units later until all constraints hold again.
void Consolidation::settle() {
    TimeNs* const starts = start_.tasks().data();
    const auto lag = [lags = lag_.data()](const EdgePlace& edge) { return lags[edge.edge]; };
    if (own_inputs_.empty()) {
        forwardPass(units().tasks, start_, lag,
                    [starts](UnitIndex unit, TimeNs ready) { return std::max(starts[unit], ready); });
        return;
    }
    auto own = own_inputs_.begin();
    forwardPass(units().tasks, start_, lag, [&](UnitIndex unit, TimeNs ready) {
        for (; own != own_inputs_.end() && own->unit == unit; ++own)
            ready = std::max(ready, starts[own->from] + own->lag);
        return std::max(starts[unit], ready);
    });
}

void Consolidation::gatherSteady(std::span<const TimeNs> before_steady) {
    const int rounds = 2 * step_->pp + 8; // blocks need one round per rank; jitter may require a few more
    for (int round = 0; round < rounds && holdBackSteady(before_steady); ++round)
        settle();
}

/// Delays each rank's steady phase until it could run without a gap. Returns true if any start moved.
bool Consolidation::holdBackSteady(std::span<const TimeNs> before_steady) {
    struct Block {
        TimeNs contiguous{0}; ///< start that a steady phase without gaps would need
        TimeNs work{0};       ///< total work of the phase's units so far
    };
    std::vector<Block> blocks(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].first_steady != kNoUnit) blocks[r].contiguous = wantedSteadyStart(r, before_steady);
    }
    const TimeNs* const starts = start_.tasks().data();
    for (std::size_t unit = 0; unit < length_.size(); ++unit) {
        if (part_[unit] != Part::Steady) continue;
        Block& block = blocks[at(units().rank[unit])];
        block.contiguous = std::max(block.contiguous, starts[unit] - block.work);
        block.work += length_[unit];
    }
    bool moved = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const UnitIndex first = ranks_[r].first_steady;
        if (first == kNoUnit) continue;
        const TimeNs contiguous = std::min(blocks[r].contiguous, latest_[first]);
        if (contiguous <= start_[first]) continue;
        start_[first] = contiguous;
        moved = true;
    }
    return moved;
}

/// The start of the steady phase requested by `before_steady`, or the earliest possible start if that is later.
TimeNs Consolidation::wantedSteadyStart(std::size_t r, std::span<const TimeNs> before_steady) const {
    const auto [before, first] = ranks_[r];
    if (r >= before_steady.size() || before == kNoUnit) return start_[first];
    return std::max(start_[first], start_[before] + lengthOf(before) + before_steady[r]);
}

void Consolidation::gatherCooldown() {
    TimeNs* const starts = start_.tasks().data();
    std::vector<TimeNs> of_tail; // the starts of the tail's units
    const auto eachOfTail = [this](const auto& visit) {
        for (std::size_t unit = 0; unit < part_.size(); ++unit) {
            if (part_[unit] == Part::Tail) visit(unit);
        }
    };
    eachOfTail([&](std::size_t unit) { of_tail.push_back(starts[unit]); });
    // Computes `latest_` again, for cool-down only, with everything else in place.
    limitBackwards([starts, parts = part_.data()](UnitIndex unit, TimeNs latest) {
        if (parts[unit] >= Part::Cooldown) starts[unit] = std::max(starts[unit], latest);
        return starts[unit];
    });
    auto settled = of_tail.begin();
    eachOfTail([&](std::size_t unit) { starts[unit] = *settled++; });
    settle();
}

StepTimeline consolidate(const StepTimeline& step, std::span<const TimeNs> before_steady) {
    Consolidation consolidation(step);
    return consolidation.possible() ? consolidation.retimed(before_steady) : step;
}

} // namespace bubblescope
