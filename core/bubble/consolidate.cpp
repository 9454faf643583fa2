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

#include "core/bubble/phases.h"
#include "core/schedule/dependency.h"

#include <algorithm>

namespace bubblescope {
namespace {

class Consolidation {
public:
    Consolidation(const StepTimeline& step, std::span<const TimeNs> before_steady)
        : step_(step), before_steady_(before_steady), schedule_(executedOrder(step)), graph_(schedule_),
          execution_(executionOrder(graph_)) {}

    /// False where ops are missing or the observed order contradicts the dependencies.
    [[nodiscard]] bool possible() const {
        return execution_.blocked.empty() && graph_.size() > 0 && graph_.rankCount() == step_.pp;
    }

    StepTimeline run() {
        readOps();
        formUnits();
        linkUnits();
        findLatest();
        gatherSteady();
        gatherCooldown();
        return writeTimes();
    }

private:
    /// Units are numbered through, rank after rank, in execution order.
    using UnitIndex = std::size_t;

    /// A rank's units: warm-up [begin, steady), steady [steady, cooldown), cool-down [cooldown, end), of which
    /// [tail, end) follows the last input gradient.
    struct RankUnits {
        UnitIndex begin;
        UnitIndex steady;
        UnitIndex cooldown;
        UnitIndex tail;
        UnitIndex end;
        [[nodiscard]] bool hasSteady() const { return steady < cooldown; }
    };

    /// A unit starts no earlier than `lag` after the start of the one named here.
    struct Constraint {
        UnitIndex before;
        TimeNs lag;
    };

    static std::size_t at(OpIndex index) { return static_cast<std::size_t>(index); }

    void readOps() {
        for (const auto& ops : step_.ranks) {
            for (const TimelineOp& op : ops) {
                if (op.op.kind == OpKind::Optimizer) continue;
                observed_.push_back(op.start);
                duration_.push_back(op.duration());
            }
        }
    }

    void formUnits() {
        for (OpIndex i = 0; i < graph_.size(); ++i) {
            const OpIndex partner = graph_.partner(i);
            if (partner == kNoOp || partner > i) {
                const std::size_t other = at(partner == kNoOp ? i : partner);
                const TimeNs end = std::max(observed_[at(i)] + duration_[at(i)], observed_[other] + duration_[other]);
                start_.push_back(std::min(observed_[at(i)], observed_[other]));
                length_.push_back(end - start_.back());
            }
            unit_.push_back(start_.size() - 1);
            offset_.push_back(observed_[at(i)] - start_.back());
        }
        for (int r = 0; r < step_.pp; ++r)
            findRankUnits(Rank{r});
    }

    void findRankUnits(Rank rank) {
        const OpIndex first = graph_.firstOf(rank);
        const UnitIndex begin = ranks_.empty() ? 0 : ranks_.back().end;
        const UnitIndex end = graph_.endOf(rank) == first ? begin : unit_[at(graph_.endOf(rank) - 1)] + 1;
        const std::vector<Op>& ops = schedule_.ranks[rank.index()];
        UnitIndex tail = begin;
        for (OpIndex i = first; i < graph_.endOf(rank); ++i) {
            if (producesInputGradient(graph_.op(i).kind)) tail = unit_[at(i)] + 1;
        }
        const auto unit = [&](std::size_t index) { return index < ops.size() ? unit_[at(first) + index] : end; };
        const Phases phases = findPhases(ops);
        ranks_.push_back({begin, unit(phases.steady), unit(phases.cooldown), tail, end});
    }

    /// How long what feeds an op was received, 0 where the trace does not say.
    [[nodiscard]] std::vector<TimeNs> measuredLatencies() const {
        std::vector<TimeNs> latency(observed_.size(), TimeNs{0});
        for (std::size_t r = 0; r < step_.comm.size(); ++r) {
            for (const CommSpan& span : step_.comm[r]) {
                const bool known = span.microbatch.value >= 0 && span.microbatch.value < step_.microbatches &&
                                   span.stage.value >= 0 && span.stage.value < step_.pp * step_.vpp &&
                                   span.sequence >= 0 && span.sequence < graph_.sequenceSlices();
                if (span.kind != CommKind::Receive || !known) continue;
                const OpKind fed = span.payload == Payload::Activation ? OpKind::Forward : OpKind::Backward;
                const OpIndex op = graph_.find(fed, span.microbatch, span.stage, span.sequence);
                if (op >= 0 && graph_.rank(op) == Rank{r}) latency[at(op)] = span.end - span.start;
            }
        }
        return latency;
    }

    /// How long after its producer's end an op could start. A measured latency is used where the trace has
    /// one; never more than what was observed, so that the observed timeline itself is feasible.
    void linkUnits() {
        const std::vector<TimeNs> latency = measuredLatencies();
        const auto link = [&](OpIndex from, OpIndex to, TimeNs wanted) {
            const TimeNs from_end = observed_[at(from)] + duration_[at(from)];
            const TimeNs lag = std::min(wanted, observed_[at(to)] - from_end);
            constraints_.push_back({unit_[at(from)], offset_[at(from)] + duration_[at(from)] + lag - offset_[at(to)]});
        };
        for (OpIndex i = 0; i < graph_.size(); ++i) {
            const UnitIndex unit = unit_[at(i)];
            if (unit == constraints_of_.size()) {
                constraints_of_.push_back(constraints_.size());
                if (graph_.previous(i) != kNoOp)
                    constraints_.push_back({unit - 1, std::min(length_[unit - 1], start_[unit] - start_[unit - 1])});
            }
            const OpIndex stage = graph_.producers(i).stage;
            const OpIndex own = graph_.producers(i).own;
            if (stage >= 0) {
                const bool crosses = graph_.rank(stage) != graph_.rank(i);
                link(stage, i, crosses ? latency[at(i)] : TimeNs{0});
            }
            if (own >= 0) link(own, i, TimeNs{0});
        }
        constraints_of_.push_back(constraints_.size());
        for (const OpIndex op : execution_.order) {
            const OpIndex partner = graph_.partner(op);
            if (partner == kNoOp || partner > op) order_.push_back(unit_[at(op)]);
        }
    }

    [[nodiscard]] std::span<const Constraint> constraints(UnitIndex unit) const {
        return std::span(constraints_)
            .subspan(constraints_of_[unit], constraints_of_[unit + 1] - constraints_of_[unit]);
    }

    /// The latest start of every unit that lets the step end in time.
    void findLatest() {
        for (const TimeNs length : length_)
            latest_.push_back(step_.end - length);
        for (auto unit = order_.rbegin(); unit != order_.rend(); ++unit) {
            for (const auto& [before, lag] : constraints(*unit))
                latest_[before] = std::min(latest_[before], latest_[*unit] - lag);
        }
    }

    /// Moves units later until every constraint holds again.
    void settle() {
        for (const UnitIndex unit : order_) {
            for (const auto& [before, lag] : constraints(unit))
                start_[unit] = std::max(start_[unit], start_[before] + lag);
        }
    }

    void gatherSteady() {
        const int rounds = 2 * step_.pp + 8; // blocks need one round a rank; jitter may ask for a few more
        for (int round = 0; round < rounds && holdBackSteady(); ++round)
            settle();
    }

    /// Raises the start of each rank's steady phase to where it could run without a gap; true if any moved.
    bool holdBackSteady() {
        bool moved = false;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            const RankUnits& rank = ranks_[r];
            if (!rank.hasSteady()) continue;
            TimeNs work{0};
            TimeNs contiguous = wantedSteadyStart(r);
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
    [[nodiscard]] TimeNs wantedSteadyStart(std::size_t r) const {
        const UnitIndex first = ranks_[r].steady;
        if (r >= before_steady_.size() || first == ranks_[r].begin) return start_[first];
        return std::max(start_[first], start_[first - 1] + length_[first - 1] + before_steady_[r]);
    }

    void gatherCooldown() {
        const std::vector<TimeNs> settled = start_;
        std::vector<bool> movable(start_.size(), false);
        for (const RankUnits& rank : ranks_) {
            for (UnitIndex i = rank.cooldown; i < rank.end; ++i)
                movable[i] = true;
        }
        std::vector<TimeNs> latest;
        for (const TimeNs length : length_)
            latest.push_back(step_.end - length);
        for (auto unit = order_.rbegin(); unit != order_.rend(); ++unit) {
            if (movable[*unit]) start_[*unit] = std::max(start_[*unit], latest[*unit]);
            for (const auto& [before, lag] : constraints(*unit))
                latest[before] = std::min(latest[before], start_[*unit] - lag);
        }
        for (const RankUnits& rank : ranks_) {
            for (UnitIndex i = std::max(rank.tail, rank.cooldown); i < rank.end; ++i)
                start_[i] = settled[i];
        }
        settle();
    }

    StepTimeline writeTimes() {
        StepTimeline result = step_;
        result.comm.assign(step_.ranks.size(), {}); // transfers were not re-timed, so they would not fit
        std::size_t index = 0;
        for (auto& ops : result.ranks) {
            for (TimelineOp& op : ops) {
                if (op.op.kind == OpKind::Optimizer) continue;
                op.start = start_[unit_[index]] + offset_[index];
                op.end = op.start + duration_[index];
                ++index;
            }
        }
        return result;
    }

    const StepTimeline& step_;
    std::span<const TimeNs> before_steady_;
    Schedule schedule_;
    OpGraph graph_;
    ExecutionOrder execution_;
    std::vector<TimeNs> observed_; ///< per op
    std::vector<TimeNs> duration_; ///< per op
    std::vector<UnitIndex> unit_;  ///< per op
    std::vector<TimeNs> offset_;   ///< per op, from its unit's start
    std::vector<TimeNs> start_;    ///< per unit
    std::vector<TimeNs> length_;   ///< per unit
    std::vector<TimeNs> latest_;   ///< per unit
    std::vector<RankUnits> ranks_;
    std::vector<Constraint> constraints_;
    std::vector<std::size_t> constraints_of_; ///< per unit, where its constraints begin; and their end
    std::vector<UnitIndex> order_;            ///< one in which all units can run
};

} // namespace

StepTimeline consolidate(const StepTimeline& step, std::span<const TimeNs> before_steady) {
    Consolidation consolidation(step, before_steady);
    return consolidation.possible() ? consolidation.run() : step;
}

} // namespace bubblescope
