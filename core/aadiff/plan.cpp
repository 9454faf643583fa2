#include "core/aadiff/plan.h"

#include "core/graph/consolidate.h"
#include "core/graph/simulate.h"
#include "core/theory/closed_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

bool isReplayed(OpKind kind, const PlanLimits& limits) {
    if (!limits.kinds.empty() && std::ranges::find(limits.kinds, kind) == limits.kinds.end()) return false;
    return kind != OpKind::Optimizer;
}

/// Inputs that are kept from the end of their op to the end of their last check.
struct Kept {
    std::size_t op = 0;
    TimeNs from{0};
    TimeNs to{0};
    std::int64_t bytes = 0;
};

class RankPlanner {
public:
    RankPlanner(std::vector<Slot> slots, const StepTimeline& step, Rank rank, const CostModel& costs,
                const PlanLimits& limits)
        : step_(step), rank_(rank), ops_(step.ranks[rank.index()]), costs_(costs), limits_(limits) {
        plan_.slots = std::move(slots);
    }

    /// `before`: see planMoreChecks(); empty if nothing has been checked yet.
    RankPlan make(std::vector<std::int64_t> before = {}) {
        findUnits();
        for (const Slot& slot : plan_.slots) {
            if (slot.next_op == 0) plan_.before_first += slot.duration();
        }
        const bool goes_on = !before.empty();
        last_check_ = std::move(before);
        last_check_.resize(plan_.units.size(), 0);
        checks_ = last_check_.empty() ? 0 : *std::ranges::max_element(last_check_);
        findCandidates();
        for (std::size_t unit = 0; unit < plan_.units.size(); ++unit) {
            if (!fitsAnywhere(unit)) plan_.never.push_back(unit);
        }
        if (goes_on) {
            const bool fits = plan_.never.size() < plan_.units.size();
            for (int number = 0; fits && number < limits_.max_steps; ++number)
                addStep();
        } else {
            planAll();
        }
        for (std::size_t unit = 0; unit < plan_.units.size(); ++unit) {
            const bool listed = std::ranges::find(plan_.never, unit) != plan_.never.end();
            if (last_check_[unit] == 0 && !listed) plan_.never.push_back(unit);
        }
        return std::move(plan_);
    }

private:
    struct Candidate {
        std::size_t op = 0;
        bool kept = false;
    };

    using Key = std::pair<Chunk, OpKind>;

    void planAll() {
        std::size_t open = plan_.units.size() - plan_.never.size();
        for (int number = 0; open > 0 && number < limits_.max_steps; ++number) {
            const std::size_t covered = addStep();
            if (covered == 0) break; // the rest does not fit into memory
            open -= covered;
        }
    }

    [[nodiscard]] Stage stageOf(Chunk chunk) const { return step_.stageOf(rank_, chunk); }

    void findUnits() {
        std::set<std::pair<Chunk, OpKind>> kinds;
        for (const TimelineOp& op : ops_) {
            if (isReplayed(op.op.kind, limits_)) kinds.insert({op.op.chunk, op.op.kind});
        }
        for (const auto& [chunk, kind] : kinds) {
            const Stage stage = stageOf(chunk);
            const int layers = limits_.layers.empty() ? 1 : limits_.layers[stage.index()];
            const TimeNs equal = costs_.opTime(kind, stage) / std::max(1, layers);
            for (int layer = 0; layer < layers; ++layer) {
                if (limits_.left_out.contains({stage, layer})) continue;
                const auto known = limits_.layer_times.find({stage, kind, layer});
                const TimeNs cost = known == limits_.layer_times.end() ? equal : known->second;
                plan_.units.push_back({.rank = rank_, .chunk = chunk, .kind = kind, .layer = layer, .cost = cost});
            }
        }
    }

    /// The time at which the activations of a forward are freed: the start of the last backward that needs them.
    [[nodiscard]] TimeNs activationsUntil(const Op& forward) const {
        TimeNs until = step_.end;
        for (const TimelineOp& op : ops_) {
            const bool same = op.op.microbatch == forward.microbatch && op.op.chunk == forward.chunk &&
                              op.op.sequence == forward.sequence;
            if (same && (op.op.kind == OpKind::Backward || op.op.kind == OpKind::BackwardInput)) until = op.start;
        }
        return until - step_.begin;
    }

    /// Determines the ops to re-execute for each slot, kind and chunk. Ops whose inputs exist come first, then the
    /// latest ones. Without a limit on kept bytes, only the latest op whose inputs must be kept is a candidate.
    void findCandidates() {
        std::map<Key, std::vector<std::size_t>> ops;
        std::vector<TimeNs> until(ops_.size());
        for (std::size_t i = 0; i < ops_.size(); ++i) {
            if (!isReplayed(ops_[i].op.kind, limits_)) continue;
            ops[{ops_[i].op.chunk, ops_[i].op.kind}].push_back(i);
            if (ops_[i].op.kind == OpKind::Forward) until[i] = activationsUntil(ops_[i].op);
        }
        candidates_.resize(plan_.slots.size());
        for (std::size_t s = 0; s < plan_.slots.size(); ++s) {
            const Slot& slot = plan_.slots[s];
            for (const auto& [key, of_kind] : ops) {
                std::vector<Candidate>& list = candidates_[s][key];
                for (auto op = of_kind.rbegin(); op != of_kind.rend(); ++op) {
                    if (ops_[*op].end - step_.begin <= slot.start) list.push_back({*op, until[*op] < slot.end});
                }
                std::stable_partition(list.begin(), list.end(), [](const Candidate& op) { return !op.kept; });
                const auto kept = std::ranges::find(list, true, &Candidate::kept);
                if (limits_.spare_bytes.empty() && kept != list.end()) list.erase(std::next(kept), list.end());
            }
        }
    }

    [[nodiscard]] TimeNs needed(const CheckUnit& unit) const {
        return timeNeeded(unit.cost, limits_.margin, limits_.latency);
    }

    [[nodiscard]] const std::vector<Candidate>& candidates(std::size_t slot, const CheckUnit& unit) const {
        return candidates_[slot].at({unit.chunk, unit.kind});
    }

    [[nodiscard]] bool fitsAnywhere(std::size_t index) const {
        const CheckUnit& unit = plan_.units[index];
        for (std::size_t s = 0; s < plan_.slots.size(); ++s) {
            if (!candidates(s, unit).empty() && needed(unit) <= plan_.slots[s].duration()) return true;
        }
        return false;
    }

    [[nodiscard]] std::int64_t bytesOf(Chunk chunk) const {
        return limits_.kept_bytes.empty() ? 0 : limits_.kept_bytes[stageOf(chunk).index()];
    }

    /// Reserves memory for an op's inputs until `to`; false if they do not fit.
    bool keep(std::size_t op, TimeNs to) {
        const TimeNs from = ops_[op].end - step_.begin;
        std::vector<Kept> with = kept_;
        const auto known = std::ranges::find(with, op, &Kept::op);
        if (known != with.end())
            known->to = std::max(known->to, to);
        else
            with.push_back({op, from, to, bytesOf(ops_[op].op.chunk)});
        std::int64_t peak = 0;
        for (const Kept& at : with) {
            std::int64_t together = 0;
            for (const Kept& other : with)
                together += other.from <= at.from && at.from < other.to ? other.bytes : 0;
            peak = std::max(peak, together);
        }
        if (!limits_.spare_bytes.empty() && peak > limits_.spare_bytes[rank_.index()]) return false;
        plan_.peak_kept_bytes = std::max(plan_.peak_kept_bytes, peak);
        kept_ = std::move(with);
        return true;
    }

    /// Fills the slots of a step, always with the unit whose last check is the oldest. A step re-executes no layer of
    /// an op twice. Returns the number of units that are checked for the first time.
    std::size_t addStep() {
        std::size_t covered = 0;
        kept_.clear();
        auto& checks = plan_.steps.emplace_back();
        done_.clear();
        for (std::size_t s = 0; s < plan_.slots.size(); ++s) {
            TimeNs free = plan_.slots[s].start;
            // Repeat until no further unit fits.
            for (bool placed = true; placed;) {
                placed = false;
                for (const std::size_t index : oldestFirst()) {
                    const TimeNs end = free + needed(plan_.units[index]);
                    const Candidate* const op = end > plan_.slots[s].end ? nullptr : next(s, index, end);
                    if (op == nullptr) continue;
                    done_.insert({op->op, index});
                    checks.push_back({.slot = s,
                                      .unit = index,
                                      .microbatch = ops_[op->op].op.microbatch,
                                      .start = free,
                                      .end = end,
                                      .kept = op->kept,
                                      .op = op->op});
                    covered += last_check_[index] == 0 ? 1 : 0;
                    last_check_[index] = ++checks_;
                    free = end;
                    placed = true;
                }
            }
        }
        return covered;
    }

    /// The op whose re-execution checks a unit in a slot before `end`, if there is one.
    const Candidate* next(std::size_t slot, std::size_t unit, TimeNs end) {
        for (const Candidate& op : candidates(slot, plan_.units[unit])) {
            if (!done_.contains({op.op, unit}) && (!op.kept || keep(op.op, end))) return &op;
        }
        return nullptr;
    }

    [[nodiscard]] std::vector<std::size_t> oldestFirst() const {
        std::vector<std::size_t> units(plan_.units.size());
        std::iota(units.begin(), units.end(), std::size_t{0});
        std::ranges::stable_sort(units, {}, [this](std::size_t unit) { return last_check_[unit]; });
        return units;
    }

    const StepTimeline& step_;
    Rank rank_;
    const std::vector<TimelineOp>& ops_;
    const CostModel& costs_;
    const PlanLimits& limits_;
    RankPlan plan_;
    std::int64_t checks_ = 0;                                       ///< number of checks planned so far
    std::vector<std::int64_t> last_check_;                          ///< by unit: the number of its last check, 0 for
                                                                    ///< none
    std::vector<std::map<Key, std::vector<Candidate>>> candidates_; ///< by slot
    // State of the current step:
    std::vector<Kept> kept_;
    std::set<std::pair<std::size_t, std::size_t>> done_; ///< op and unit
};

} // namespace

TimeNs timeNeeded(TimeNs cost, double margin, TimeNs latency) {
    const double with_margin = static_cast<double>(cost.count()) * (1 + margin);
    return TimeNs{static_cast<std::int64_t>(std::ceil(with_margin))} + latency;
}

std::span<const PlannedCheck> RankPlan::checksOf(std::int64_t step) const {
    if (steps.empty()) return {};
    return steps[static_cast<std::size_t>(step) % steps.size()];
}

TimeNs RankPlan::idle() const {
    TimeNs sum{0};
    for (const Slot& slot : slots)
        sum += slot.duration();
    return sum;
}

TimeNs RankPlan::checkedPerStep() const {
    TimeNs sum{0};
    for (const auto& step : steps) {
        for (const PlannedCheck& check : step)
            sum += units[check.unit].cost;
    }
    return steps.empty() ? sum : sum / static_cast<std::int64_t>(steps.size());
}

std::optional<int> RankPlan::stepsToFull() const {
    if (!never.empty()) return std::nullopt;
    return static_cast<int>(steps.size());
}

std::optional<int> AadiffPlan::stepsToFull() const {
    int most = 0;
    for (const RankPlan& rank : ranks) {
        const auto steps = rank.stepsToFull();
        if (!steps) return std::nullopt;
        most = std::max(most, *steps);
    }
    return most;
}

TimeNs AadiffPlan::checkedPerStep() const {
    TimeNs sum{0};
    for (const RankPlan& rank : ranks)
        sum += rank.checkedPerStep();
    return sum;
}

AadiffPlan planChecks(Slots slots, const StepTimeline& step, const CostModel& costs, const PlanLimits& limits) {
    AadiffPlan plan;
    slots.resize(step.ranks.size());
    for (std::size_t r = 0; r < step.ranks.size(); ++r)
        plan.ranks.push_back(RankPlanner(std::move(slots[r]), step, Rank{r}, costs, limits).make());
    return plan;
}

RankPlan planMoreChecks(std::vector<Slot> slots, const StepTimeline& step, Rank rank, const CostModel& costs,
                        const PlanLimits& limits, std::vector<std::int64_t> last_checks) {
    return RankPlanner(std::move(slots), step, rank, costs, limits).make(std::move(last_checks));
}

Slots slotsOf(const StepTimeline& step) {
    Slots slots;
    for (const auto& bubbles : findBubbles(step)) {
        auto& of_rank = slots.emplace_back();
        for (const Bubble& bubble : bubbles) {
            const auto& ops = step.ranks[bubble.rank.index()];
            const auto next = std::ranges::lower_bound(ops, bubble.end, {}, &TimelineOp::start);
            of_rank.push_back({.rank = bubble.rank,
                               .position = bubble.position,
                               .start = bubble.start - step.begin,
                               .end = bubble.end - step.begin,
                               .next_op = static_cast<std::size_t>(next - ops.begin())});
        }
    }
    return slots;
}

namespace {

/// Returns `times` with the given kind of op lengthened by `more`.
OpTimes longer(OpTimes times, OpKind kind, TimeNs more) {
    switch (kind) {
    case OpKind::Forward: times.forward += more; break;
    case OpKind::Backward:
    case OpKind::BackwardInput:
        times.input_grad += more;
        times.backward += more;
        break;
    case OpKind::BackwardWeight:
        times.weight_grad += more;
        times.backward += more;
        break;
    case OpKind::Optimizer: break;
    }
    return times;
}

bool splits(const Schedule& schedule) {
    return std::ranges::any_of(schedule.ranks, [](const auto& ops) {
        return std::ranges::find(ops, OpKind::BackwardInput, &Op::kind) != ops.end();
    });
}

} // namespace

Slots shortestSlotsOf(std::span<const StepTimeline> steps) {
    if (steps.empty()) return {};
    const StepTimeline& last = steps.back();
    const Schedule order = executedOrder(last);
    Slots slots = slotsOf(last);
    for (const StepTimeline& step : steps.first(steps.size() - 1)) {
        if (!(executedOrder(step).ranks == order.ranks)) continue;
        std::map<std::pair<std::size_t, std::size_t>, TimeNs> seen; // by rank and next op
        for (const auto& of_rank : slotsOf(step)) {
            for (const Slot& slot : of_rank)
                seen[{slot.rank.index(), slot.next_op}] += slot.duration();
        }
        for (auto& of_rank : slots) {
            for (Slot& slot : of_rank) {
                const auto found = seen.find({slot.rank.index(), slot.next_op});
                const TimeNs then = found == seen.end() ? TimeNs{0} : found->second;
                slot.end = std::min(slot.end, slot.start + then);
            }
            std::erase_if(of_rank, [](const Slot& slot) { return slot.duration() <= TimeNs{0}; });
        }
    }
    return slots;
}

int SlotCounts::total(Rank rank) const {
    const auto& counts = ranks[rank.index()];
    return std::accumulate(counts.begin(), counts.end(), 0);
}

std::optional<SlotCounts> slotCounts(const Schedule& schedule, const CostModel& costs) {
    constexpr TimeNs kMore{1};
    if (!costs.equalStages()) return std::nullopt;
    const auto form = closedForm(schedule, costs);
    if (!form.ok() || !form.value().exact() || !form.value().positionsKnown()) return std::nullopt;
    SlotCounts counts;
    counts.ranks.resize(schedule.ranks.size());
    std::vector<OpKind> kinds{OpKind::Forward, OpKind::BackwardInput};
    if (splits(schedule)) kinds.push_back(OpKind::BackwardWeight);
    for (const OpKind kind : kinds) {
        CostModel changed = costs;
        changed.times = longer(costs.times, kind, kMore);
        if (costs.overlapped) changed.overlapped = *costs.overlapped + kMore;
        const auto other = closedForm(schedule, changed);
        if (!other.ok() || !other.value().positionsKnown()) return std::nullopt;
        for (std::size_t r = 0; r < counts.ranks.size(); ++r) {
            for (std::size_t at = 0; at < kPositionCount; ++at) {
                const auto position = static_cast<Position>(at);
                const TimeNs grown = other.value().at(Rank{r}, position) - form.value().at(Rank{r}, position);
                counts.ranks[r][at] += static_cast<int>(std::max<std::int64_t>(grown / kMore, 0));
            }
        }
    }
    return counts;
}

namespace {

Status checkLimits(const Schedule& schedule, const PlanLimits& limits) {
    const std::size_t stages = schedule.ranks.size() * static_cast<std::size_t>(schedule.vpp);
    const auto wrong = [](std::size_t size, std::size_t wanted) { return size != 0 && size != wanted; };
    if (wrong(limits.layers.size(), stages)) {
        return usageError(
            fmt::format("layers are given for {} stages, but the schedule has {}", limits.layers.size(), stages));
    }
    if (wrong(limits.kept_bytes.size(), stages) || wrong(limits.spare_bytes.size(), schedule.ranks.size()))
        return usageError("the memory sizes are for a different number of stages or ranks than the schedule has");
    return {};
}

} // namespace

double AadiffStudy::coverableFraction(const AadiffPlan& plan) {
    std::size_t units = 0;
    std::size_t never = 0;
    for (const RankPlan& rank : plan.ranks) {
        units += rank.units.size();
        never += rank.never.size();
    }
    return units == 0 ? 0 : static_cast<double>(units - never) / static_cast<double>(units);
}

double AadiffStudy::checkedFraction(const AadiffPlan& plan) const {
    TimeNs compute{0};
    for (const auto& ops : executed.ranks) {
        for (const TimelineOp& op : ops)
            compute += op.duration();
    }
    return compute <= TimeNs{0}
               ? 0
               : static_cast<double>(plan.checkedPerStep().count()) / static_cast<double>(compute.count());
}

bool AadiffStudy::retiming() const {
    constexpr static int kNever = 1 << 30;
    const auto worth = [this](const AadiffPlan& plan) {
        return std::tuple(coverableFraction(plan), -plan.stepsToFull().value_or(kNever), checkedFraction(plan));
    };
    return worth(with_slack) > worth(as_executed);
}

Result<AadiffStudy> studyAadiff(const Schedule& schedule, const CostModel& costs, const PlanLimits& limits) {
    BUBBLESCOPE_TRY(checkLimits(schedule, limits));
    AadiffStudy study;
    BUBBLESCOPE_ASSIGN(study.executed, simulate(schedule, costs));
    BUBBLESCOPE_ASSIGN(const ClosedForm form, closedForm(schedule, costs));
    study.retimed = consolidate(study.executed, form.beforeSteady());
    study.as_executed = planChecks(slotsOf(study.executed), study.executed, costs, limits);
    study.with_slack = planChecks(slotsOf(study.retimed), study.retimed, costs, limits);
    study.counts = slotCounts(schedule, costs);
    return study;
}

} // namespace bubblescope
