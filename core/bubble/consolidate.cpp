// The method. Three passes over the ops of the step, each moving ops later only:
//
// 1. The latest start of every op, from the end of the window backwards: nothing may pass it, so the
//    makespan holds whatever the other passes do.
// 2. Each rank's steady phase is held back until it can run without a gap: its start is raised to the
//    largest "arrival minus work before it" of its ops, all ranks are re-timed, and this repeats until
//    nothing moves. Starts only grow and are capped by pass 1, so it ends; for schedules whose steady
//    phases can be contiguous this is the longest-path solution for rigid blocks, reached after at most
//    one round per rank.
// 3. Cool-down ops move to their latest start, with everything else in place.

#include "core/bubble/consolidate.h"

#include "core/bubble/phases.h"
#include "core/schedule/dependency.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace bubblescope {
namespace {

class Consolidation {
public:
    Consolidation(const StepTimeline& step, std::span<const TimeNs> before_steady)
        : step_(step), before_steady_(before_steady), schedule_(executedOrder(step)), graph_(schedule_),
          execution_(executionOrder(graph_)) {}

    /// False where ops are missing, the observed order contradicts the dependencies, or ops overlap in pairs,
    /// whose halves cannot be moved one by one.
    [[nodiscard]] bool possible() const {
        const bool pairs = std::ranges::any_of(schedule_.ranks, [](const auto& ops) {
            return std::ranges::any_of(ops, [](const Op& op) { return op.overlapped; });
        });
        return execution_.blocked.empty() && graph_.size() > 0 && graph_.rankCount() == step_.pp && !pairs;
    }

    StepTimeline run() {
        readTimes();
        readLags();
        findLatest();
        gatherSteady();
        gatherCooldown();
        return writeTimes();
    }

private:
    static std::size_t at(OpIndex index) { return static_cast<std::size_t>(index); }

    void readTimes() {
        for (const auto& ops : step_.ranks) {
            std::vector<OpKind> kinds;
            for (const TimelineOp& op : ops) {
                if (op.op.kind == OpKind::Optimizer) continue;
                kinds.push_back(op.op.kind);
                observed_.push_back(op.start);
                duration_.push_back(op.duration());
            }
            phases_.push_back(findPhases(kinds));
        }
        start_ = observed_;
    }

    /// How long after its producer's end an op could start. A measured latency is used where the trace has
    /// one; never more than what was observed, so that the observed timeline itself is feasible.
    void readLags() {
        std::map<std::tuple<Rank, Payload, Microbatch, Stage>, TimeNs> latency;
        for (std::size_t r = 0; r < step_.comm.size(); ++r) {
            for (const CommSpan& span : step_.comm[r]) {
                if (span.kind != CommKind::Receive) continue;
                latency[{Rank{r}, span.payload, span.microbatch, span.stage}] = span.end - span.start;
            }
        }
        const auto observed_lag = [&](OpIndex from, OpIndex to) {
            return from < 0 ? TimeNs{0} : observed_[at(to)] - observed_[at(from)] - duration_[at(from)];
        };
        for (OpIndex i = 0; i < graph_.size(); ++i) {
            const Op& op = graph_.op(i);
            const OpIndex stage = graph_.producers(i).stage;
            TimeNs measured{0};
            if (stage >= 0 && graph_.rank(stage) != graph_.rank(i)) {
                const Payload payload = op.kind == OpKind::Forward ? Payload::Activation : Payload::Gradient;
                const auto found = latency.find({graph_.rank(i), payload, op.microbatch, graph_.stage(i)});
                if (found != latency.end()) measured = found->second;
            }
            lag_.push_back({std::min(measured, observed_lag(stage, i)),
                            std::min(TimeNs{0}, observed_lag(graph_.producers(i).own, i)),
                            std::min(TimeNs{0}, observed_lag(graph_.previous(i), i))});
        }
    }

    /// Calls visit(before, lag) for each op that must have ended before `op` starts.
    template <class Visit>
    void forEachBefore(OpIndex op, Visit visit) const {
        const Lags& lag = lag_[at(op)];
        const Producers& needs = graph_.producers(op);
        if (needs.stage >= 0) visit(needs.stage, lag.stage);
        if (needs.own >= 0) visit(needs.own, lag.own);
        const OpIndex previous = graph_.previous(op);
        if (previous >= 0) visit(previous, lag.previous);
    }

    void findLatest() {
        for (OpIndex i = 0; i < graph_.size(); ++i)
            latest_.push_back(step_.end - duration_[at(i)]);
        for (auto op = execution_.order.rbegin(); op != execution_.order.rend(); ++op) {
            forEachBefore(*op, [&](OpIndex before, TimeNs lag) {
                latest_[at(before)] = std::min(latest_[at(before)], latest_[at(*op)] - lag - duration_[at(before)]);
            });
        }
    }

    void gatherSteady() {
        const int rounds = 2 * step_.pp + 8; // blocks need one round a rank; jitter may ask for a few more
        for (int round = 0; round < rounds && holdBackSteady(); ++round) {
            for (const OpIndex op : execution_.order) {
                forEachBefore(op, [&](OpIndex before, TimeNs lag) {
                    start_[at(op)] = std::max(start_[at(op)], start_[at(before)] + duration_[at(before)] + lag);
                });
            }
        }
    }

    /// Raises the start of each rank's steady phase to where it could run without a gap; true if any moved.
    bool holdBackSteady() {
        bool moved = false;
        for (int r = 0; r < step_.pp; ++r) {
            const Phases& phases = phases_[Rank{r}.index()];
            if (!phases.hasSteady()) continue;
            const OpIndex first = graph_.firstOf(Rank{r}) + static_cast<OpIndex>(phases.steady);
            const OpIndex end = graph_.firstOf(Rank{r}) + static_cast<OpIndex>(phases.cooldown);
            TimeNs work{0};
            TimeNs contiguous = wantedSteadyStart(Rank{r}, first);
            for (OpIndex i = first; i < end; ++i) {
                contiguous = std::max(contiguous, start_[at(i)] - work);
                work += duration_[at(i)];
            }
            contiguous = std::min(contiguous, latest_[at(first)]);
            if (contiguous > start_[at(first)]) {
                start_[at(first)] = contiguous;
                moved = true;
            }
        }
        return moved;
    }

    /// Where `before_steady` would have the steady phase start, but not before it could.
    [[nodiscard]] TimeNs wantedSteadyStart(Rank rank, OpIndex first) const {
        const OpIndex warmup_end = graph_.previous(first);
        if (rank.index() >= before_steady_.size() || warmup_end < 0) return start_[at(first)];
        return std::max(start_[at(first)],
                        start_[at(warmup_end)] + duration_[at(warmup_end)] + before_steady_[rank.index()]);
    }

    void gatherCooldown() {
        std::vector<TimeNs> target(at(graph_.size()));
        for (OpIndex i = 0; i < graph_.size(); ++i)
            target[at(i)] = step_.end - duration_[at(i)];
        for (auto op = execution_.order.rbegin(); op != execution_.order.rend(); ++op) {
            const Rank rank = graph_.rank(*op);
            const bool cooldown = *op - graph_.firstOf(rank) >= static_cast<OpIndex>(phases_[rank.index()].cooldown);
            if (cooldown) start_[at(*op)] = std::max(start_[at(*op)], target[at(*op)]);
            forEachBefore(*op, [&](OpIndex before, TimeNs lag) {
                target[at(before)] = std::min(target[at(before)], start_[at(*op)] - lag - duration_[at(before)]);
            });
        }
    }

    StepTimeline writeTimes() {
        StepTimeline result = step_;
        result.comm.assign(step_.ranks.size(), {}); // transfers were not re-timed, so they would not fit
        std::size_t index = 0;
        for (auto& ops : result.ranks) {
            for (TimelineOp& op : ops) {
                if (op.op.kind == OpKind::Optimizer) continue;
                op.start = start_[index];
                op.end = start_[index] + duration_[index];
                ++index;
            }
        }
        return result;
    }

    struct Lags {
        TimeNs stage{0};
        TimeNs own{0};
        TimeNs previous{0};
    };

    const StepTimeline& step_;
    std::span<const TimeNs> before_steady_;
    Schedule schedule_;
    OpGraph graph_;
    ExecutionOrder execution_;
    std::vector<TimeNs> observed_;
    std::vector<TimeNs> duration_;
    std::vector<TimeNs> start_;
    std::vector<TimeNs> latest_;
    std::vector<Lags> lag_;
    std::vector<Phases> phases_;
};

} // namespace

StepTimeline consolidate(const StepTimeline& step, std::span<const TimeNs> before_steady) {
    Consolidation consolidation(step, before_steady);
    return consolidation.possible() ? consolidation.run() : step;
}

} // namespace bubblescope
