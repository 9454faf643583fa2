#include "core/analysis/attribution/attribution.h"

#include "core/analysis/attribution/chain_tree.h"
#include "core/analysis/attribution/explained_waits.h"
#include "core/analysis/attribution/step_excess.h"
#include "core/base/large_list.h"
#include "core/base/parallel.h"
#include "core/graph/step_replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

struct Candidate {
    RootCause root_cause;
    double waits = 0;
};

/// Excess that is counted together.
struct CauseSum {
    std::int64_t count = 0;
    TimeNs excess{0};
    double waits = 0;
    Rank peer; ///< for a link

    void add(TimeNs time, double fraction) {
        if (time == TimeNs{0}) return;
        ++count;
        excess += time;
        waits += fraction * static_cast<double>(time.count());
    }
};

/// How many ops of a rank are clearly slower than usual on their stages.
struct SlowShare {
    static constexpr std::size_t kFewestOps = 8;
    std::size_t ops = 0;
    std::size_t slow = 0;

    void add(TimeNs longer, TimeNs typical) {
        ++ops;
        if (10 * longer > typical) ++slow;
    }
    /// With symmetric noise, half of the ops are slower than the median.
    [[nodiscard]] bool nearlyAll() const { return ops >= kFewestOps && 5 * slow >= 4 * ops; }
};

using WaitedForOp = std::pair<double, UnitIndex>; ///< the waiting that it caused, and its unit

void keepGreatest(std::vector<WaitedForOp>& worst, const WaitedForOp& op) {
    if (worst.size() == kMaxRootCauses) {
        if (op <= worst.back()) return;
        worst.pop_back();
    }
    worst.insert(std::ranges::upper_bound(worst, op, std::ranges::greater{}), op);
}

RootCause rootCauseOf(RootCauseKind kind, std::size_t rank) {
    RootCause root_cause;
    root_cause.kind = kind;
    root_cause.rank = Rank{rank};
    return root_cause;
}

/// The sums of one step. The add… functions may run in parallel, including addOps() for both halves.
class CauseSums {
public:
    CauseSums(const StepExcess& excess, const ExplainedWaits& waits, int vpp)
        : excess_(excess), waits_(waits), graph_(excess.graph()), ranks_(graph_.last.size()),
          chunks_(static_cast<std::size_t>(std::max(1, vpp))), stages_(ranks_ * chunks_), links_(ranks_ * 2),
          starts_(ranks_), shares_(ranks_), slow_ranks_(ranks_) {}

    /// Keeps only the slow ops that may enter the ranking, worst first. Works in two halves by rank; the sums of a
    /// rank's stages are in the order of its units, which are mostly in one half.
    void addOps(std::size_t half) {
        eachUnit(half, [&](std::size_t unit, std::size_t rank) {
            shares_[rank].add(excess_.longerAt(unit).of_op, excess_.typical()[unit]);
        });
        eachUnit(half, [&](std::size_t unit, std::size_t rank) {
            const StepExcess::Longer longer = excess_.longerAt(unit);
            if (const Chunk chunk = graph_.chunk[unit]; chunk.value >= 0 && chunk.index() < chunks_)
                stages_[rank * chunks_ + chunk.index()].add(longer.of_stage, waits_.ofOp(unit));
            if (shares_[rank].nearlyAll()) {
                slow_ranks_[rank].add(longer.of_op, waits_.ofOp(unit));
                return;
            }
            const double waits = waits_.ofOp(unit) * static_cast<double>(longer.of_op.count());
            if (waits > 0) keepGreatest(slow_ops_[half], {waits, static_cast<UnitIndex>(unit)});
        });
    }
    void addLinks() {
        const std::vector<Binding>& bindings = excess_.bindings();
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
            if (!bindings[unit].crosses) continue;
            const TransferPlace by = graph_.latestTransfer(unit);
            const auto rank = StepGraph::at(graph_.rank[by.unit]);
            const Rank from{graph_.rank[StepGraph::at(graph_.input(by.side, by.unit))]};
            const std::size_t next = from.index() + 1 == ranks_ ? 0 : from.index() + 1;
            CauseSum& link = links_[2 * from.index() + (rank == next ? 0U : 1U)];
            link.peer = Rank{rank};
            link.add(excess_.slowTransferTo(unit), waits_.ofStart(unit));
        }
    }
    void addStarts() {
        for (std::size_t i = 0; i < kDelayKinds.size(); ++i) {
            const std::vector<TimeNs>& delays = excess_.delaysOf(kDelayKinds[i]);
            for (std::size_t unit = 0; unit < delays.size(); ++unit)
                starts_[StepGraph::at(graph_.rank[unit])][i].add(delays[unit], waits_.ofStart(unit));
        }
    }

    [[nodiscard]] std::vector<Candidate> candidates() const {
        std::vector<Candidate> all;
        std::vector<WaitedForOp> slow_ops = slow_ops_[0];
        for (const WaitedForOp& op : slow_ops_[1])
            keepGreatest(slow_ops, op);
        for (const auto& [waits, index] : slow_ops) {
            const std::size_t unit = StepGraph::at(index);
            CauseSum op;
            op.add(excess_.longerAt(unit).of_op, waits_.ofOp(unit));
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowOp, StepGraph::at(graph_.rank[unit]));
            root_cause.unit = index;
            addCandidate(all, op, std::move(root_cause));
        }
        for (std::size_t i = 0; i < stages_.size(); ++i) {
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowStage, i / chunks_);
            root_cause.chunk = Chunk{i % chunks_};
            addCandidate(all, stages_[i], std::move(root_cause));
        }
        for (std::size_t i = 0; i < links_.size(); ++i) {
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowLink, i / 2);
            root_cause.peer = links_[i].peer;
            addCandidate(all, links_[i], std::move(root_cause));
        }
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            addCandidate(all, slow_ranks_[rank], rootCauseOf(RootCauseKind::SlowRank, rank));
            for (std::size_t i = 0; i < kDelayKinds.size(); ++i)
                addCandidate(all, starts_[rank][i], rootCauseOf(kDelayKinds[i], rank));
        }
        return all;
    }

private:
    /// Visits the units of the ranks in the first or second half, with their ranks.
    template <class Visit>
    void eachUnit(std::size_t half, Visit visit) const {
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
            const auto rank = StepGraph::at(graph_.rank[unit]);
            if ((2 * rank < ranks_ ? 0U : 1U) == half) visit(unit, rank);
        }
    }
    static void addCandidate(std::vector<Candidate>& to, const CauseSum& sum, RootCause root_cause) {
        if (sum.waits < 1) return; // ignore rounding errors
        root_cause.count = sum.count;
        root_cause.excess = sum.excess;
        root_cause.waits = TimeNs{std::llround(sum.waits)};
        to.push_back({std::move(root_cause), sum.waits});
    }

    const StepExcess& excess_;
    const ExplainedWaits& waits_;
    const StepGraph& graph_;
    std::size_t ranks_;
    std::size_t chunks_;                                           ///< per rank
    std::vector<CauseSum> stages_;                                 ///< per rank and chunk
    std::vector<CauseSum> links_;                                  ///< per rank: to the next rank, and to any other
    std::vector<std::array<CauseSum, kDelayKinds.size()>> starts_; ///< per rank
    std::vector<SlowShare> shares_;                                ///< per rank
    std::vector<CauseSum> slow_ranks_;                             ///< per rank, if nearly all of its ops are slow
    std::array<std::vector<WaitedForOp>, 2> slow_ops_;
};

/// The causes that made ranks wait most, at most kMaxRootCauses, worst first; does not set RootCause::saves and idle.
/// Counted together: a stage's ops, a link's transfers, a rank's delays of a kind. Slow ops count individually, or
/// together if nearly all ops of their rank are slow. `waits` must be those of the same step, after sumShares(); `vpp`
/// is the number of chunks per rank. Uses up to four threads. Linear in units.
std::vector<RootCause> worstCauses(const StepExcess& excess, const ExplainedWaits& waits, int vpp) {
    CauseSums sums(excess, waits, vpp);
    parallelCalls(
        excess.graph().rank.size(), [&] { sums.addOps(0); }, [&] { sums.addOps(1); }, [&] { sums.addLinks(); },
        [&] { sums.addStarts(); });
    std::vector<Candidate> candidates = sums.candidates();
    const auto worst_first = [](const Candidate& a, const Candidate& b) { return a.waits > b.waits; };
    const auto most = static_cast<std::ptrdiff_t>(std::min(candidates.size(), kMaxRootCauses));
    std::ranges::partial_sort(candidates, candidates.begin() + most, worst_first);
    candidates.resize(static_cast<std::size_t>(most));
    std::vector<RootCause> worst;
    for (Candidate& candidate : candidates)
        worst.push_back(std::move(candidate.root_cause));
    return worst;
}

/// The time that a step saves without a cause of waits: the step is replayed as observed, and again with the ops,
/// transfers or starts concerned limited to their usual time.
///
/// Refers to a StepExcess and a replay of the same step, which must outlive it. Not thread-safe. Each replay is linear
/// in units.
class StepSavings {
public:
    StepSavings(const StepExcess& excess, const StepReplay& replay)
        : excess_(excess), graph_(excess.graph()), replay_(replay) {}

    /// Replays the step as observed, on the calling thread. If it was not called before, find() calls it.
    void replayObserved();
    /// Sets `saves` and `idle` of each cause. Call once. Two replays run at a time, one of them in the memory of
    /// `spare`.
    void find(std::vector<RootCause>& causes, TaskTimes spare);

private:
    [[nodiscard]] ListToFill<TimeNs> observedDurations() const;
    [[nodiscard]] TimeNs lengthWithout(const RootCause& root_cause, ListToFill<TimeNs>& durations,
                                       TaskTimes& ends) const;
    void addExcess(const RootCause& root_cause, int times, ListToFill<TimeNs>& durations) const;
    [[nodiscard]] InputTimes atTypicalTime(const RootCause& link) const;
    [[nodiscard]] std::vector<TimeNs> onTime(const RootCause& root_cause) const;

    const StepExcess& excess_;
    const StepGraph& graph_;
    const StepReplay& replay_;
    ListToFill<TimeNs> observed_; ///< durations of the observed step, after it was replayed
    TaskTimes observed_ends_;     ///< ends in that replay
    TimeNs observed_length_{0};   ///< its length in that replay
};

constexpr bool isOfOps(RootCauseKind kind) {
    return kind == RootCauseKind::SlowOp || kind == RootCauseKind::SlowStage || kind == RootCauseKind::SlowRank;
}

/// Visits a rank's units in the order in which it ran them.
template <class Visit>
void eachUnitOf(const StepGraph& graph, Rank rank, Visit visit) {
    UnitIndex latest = kNoUnit;
    for (const UnitIndex unit : graph.unitsOf(rank)) {
        if (unit == latest) continue; // the second half of a pair
        latest = unit;
        visit(unit);
    }
}

/// Visits transfers of a payload between two ranks only.
template <class Visit>
void eachTransfer(const StepGraph& graph, Visit visit) {
    for (std::size_t side = 0; side < graph.sides(); ++side) {
        for (std::size_t unit = 0; unit < graph.rank.size(); ++unit) {
            if (graph.crosses(side, unit)) visit(side, unit);
        }
    }
}

void StepSavings::replayObserved() {
    observed_ = observedDurations();
    observed_length_ = replay_.run({observed_, &graph_.transfer, excess_.delays(), graph_.holds}, observed_ends_);
}

void StepSavings::find(std::vector<RootCause>& causes, TaskTimes spare) {
    if (causes.empty()) return;
    if (observed_.empty()) replayObserved();
    // Each replay needs separate lists, so at most two run at a time: one in the lists of the observed step and one in
    // the spare lists.
    constexpr std::size_t kLanes = 2;
    std::array<ListToFill<TimeNs>, kLanes> durations{std::move(observed_)};
    std::array<TaskTimes, kLanes> ends{std::move(observed_ends_), std::move(spare)};
    parallelGroups(std::min(kLanes, causes.size()), graph_.rank.size(), [&](std::size_t lane) {
        if (durations[lane].empty()) durations[lane] = observedDurations();
        for (std::size_t i = lane; i < causes.size(); i += kLanes) {
            RootCause& root_cause = causes[i];
            root_cause.saves = observed_length_ - lengthWithout(root_cause, durations[lane], ends[lane]);
            // A rank's bubble is the step's length minus the rank's ops.
            root_cause.idle.assign(graph_.last.size(), root_cause.saves);
            if (isOfOps(root_cause.kind)) root_cause.idle[root_cause.rank.index()] -= root_cause.excess;
        }
    });
}

ListToFill<TimeNs> StepSavings::observedDurations() const {
    ListToFill<TimeNs> durations;
    resizeLarge(durations, graph_.rank.size());
    for (UnitIndex unit = 0; unit < graph_.size(); ++unit)
        durations[StepGraph::at(unit)] = graph_.duration(unit);
    return durations;
}

/// Length of the replay without a cause. `durations` are the observed ones before and after the call.
TimeNs StepSavings::lengthWithout(const RootCause& root_cause, ListToFill<TimeNs>& durations, TaskTimes& ends) const {
    if (root_cause.kind == RootCauseKind::SlowLink) {
        const InputTimes transfers = atTypicalTime(root_cause);
        return replay_.run({durations, &transfers, excess_.delays(), graph_.holds}, ends);
    }
    if (!isOfOps(root_cause.kind)) {
        const std::vector<TimeNs> delays = onTime(root_cause);
        return replay_.run({durations, &graph_.transfer, delays, graph_.holds}, ends);
    }
    addExcess(root_cause, -1, durations);
    const TimeNs length = replay_.run({durations, &graph_.transfer, excess_.delays(), graph_.holds}, ends);
    addExcess(root_cause, 1, durations);
    return length;
}

/// Adds the excess of a slow op, stage or rank to its ops' durations, `times` times.
void StepSavings::addExcess(const RootCause& root_cause, int times, ListToFill<TimeNs>& durations) const {
    if (root_cause.unit) {
        const std::size_t unit = StepGraph::at(*root_cause.unit);
        durations[unit] += times * excess_.ofKind(root_cause.kind, unit);
        return;
    }
    eachUnitOf(graph_, root_cause.rank, [&](UnitIndex unit) {
        if (!root_cause.chunk || graph_.chunk[StepGraph::at(unit)] == root_cause.chunk)
            durations[StepGraph::at(unit)] += times * excess_.ofKind(root_cause.kind, StepGraph::at(unit));
    });
}

/// All transfers, with those of a slow link limited to the typical time.
InputTimes StepSavings::atTypicalTime(const RootCause& link) const {
    InputTimes transfers = graph_.transfer;
    eachTransfer(graph_, [&](std::size_t side, std::size_t unit) {
        const UnitIndex from = graph_.input(side, unit);
        if (graph_.rank[StepGraph::at(from)] != link.rank.value || graph_.rank[unit] != link.peer->value) return;
        transfers[side][unit] = std::min(transfers[side][unit], excess_.typicalTransfer(graph_.way[side][unit]));
    });
    return transfers;
}

/// All delays except a rank's delays of one kind.
std::vector<TimeNs> StepSavings::onTime(const RootCause& root_cause) const {
    std::vector<TimeNs> delays = excess_.delays();
    const std::vector<TimeNs>& part = excess_.delaysOf(root_cause.kind);
    for (std::size_t unit = 0; unit < part.size(); ++unit) {
        if (graph_.rank[unit] == root_cause.rank.value) delays[unit] -= part[unit];
    }
    return delays;
}

constexpr std::int64_t kKindsPacked = 8; // an excess is below 36 years

} // namespace

std::string_view rootCauseKindName(RootCauseKind kind) {
    switch (kind) {
    case RootCauseKind::SlowStage: return "slow-stage";
    case RootCauseKind::SlowOp: return "slow-op";
    case RootCauseKind::SlowLink: return "slow-link";
    case RootCauseKind::InTransfer: return "transfer-delay";
    case RootCauseKind::Blocked: return "blocked";
    case RootCauseKind::ReplayedWork: return "replayed-work";
    case RootCauseKind::LateStart: return "late-start";
    case RootCauseKind::SlowRank: return "slow-rank";
    }
    return "";
}

StepAttribution attributeWaits(const StepTimeline& step, const ObservedStep& observed, const StepReplay& replay,
                               const UnitTimes& usual) {
    const StepExcess excess(observed, usual);
    ExplainedWaits waits(excess);
    StepSavings savings(excess, replay);
    StepAttribution result = waits.explain();
    const auto sum = [&] { waits.sumShares(); };
    const auto replay_observed = [&] {
        if (result.attributed > TimeNs{0}) savings.replayObserved();
    };
    parallelCalls(observed.graph.rank.size(), sum, replay_observed);
    result.ranking = worstCauses(excess, waits, step.vpp);
    savings.find(result.ranking, waits.takeTypicalEnds());
    std::ranges::sort(result.ranking, std::ranges::greater{},
                      [](const RootCause& root_cause) { return std::pair(root_cause.saves, root_cause.waits); });
    return result;
}

void AttributedBubbles::set(std::size_t place, const AttributedBubble& bubble) {
    Packed& packed = packed_[place];
    packed = {bubble.start, bubble.end, bubble.usual, 0, bubble.before, kNoUnit};
    if (!bubble.cause) return;
    packed.excess = bubble.cause->time.count() * kKindsPacked + static_cast<std::int64_t>(bubble.cause->kind);
    packed.unit = bubble.cause->unit;
}

AttributedBubble AttributedBubbles::at(std::size_t place, Rank rank) const {
    const Packed& packed = packed_[place];
    AttributedBubble bubble{rank, packed.before, packed.start, packed.end, packed.usual, std::nullopt};
    if (packed.unit != kNoUnit) {
        const auto kind = static_cast<RootCauseKind>(packed.excess % kKindsPacked);
        bubble.cause = Excess{kind, packed.unit, TimeNs{packed.excess / kKindsPacked}};
    }
    return bubble;
}

void AttributedBubbles::acquit() {
    for (Packed& packed : packed_) {
        packed.usual = packed.end - packed.start;
        packed.unit = kNoUnit;
    }
}

AttributedBubbles::OfRank AttributedBubbles::of(Rank rank) const {
    if (rank.value < 0 || rank.index() >= ranks()) return {end(), end()};
    const std::size_t from = begin_[rank.index()];
    const std::size_t to = begin_[rank.index() + 1];
    return {Iterator(*this, from, rank.index()), Iterator(*this, to, rank.index())};
}

std::optional<AttributedBubble> findAttributed(const StepAttribution& attribution, Rank rank,
                                               const TimeInterval& interval) {
    std::optional<AttributedBubble> best;
    TimeNs most{0};
    for (const AttributedBubble bubble : attribution.bubbles.of(rank)) {
        const TimeNs shared = std::min(interval.end, bubble.end) - std::max(interval.start, bubble.start);
        if (shared <= most) continue;
        most = shared;
        best = bubble;
    }
    return best;
}

std::vector<UnitIndex> waitChain(const StepGraph& graph, const std::vector<Binding>& latest,
                                 const AttributedBubble& bubble) {
    std::vector<UnitIndex> chain;
    if (bubble.before == kNoUnit || bubble.before >= graph.size()) return chain;
    const ChainTree tree(latest, [](std::size_t) { return TimeNs{0}; });
    const UnitIndex previous = graph.previous(StepGraph::at(bubble.before));
    const UnitIndex meeting = previous == kNoUnit ? kNoUnit : tree.meet(bubble.before, previous);
    for (UnitIndex unit = bubble.before; unit != kNoUnit; unit = latest[StepGraph::at(unit)].unit) {
        chain.push_back(unit);
        if (unit == meeting) break;
    }
    return chain;
}

} // namespace bubblescope
