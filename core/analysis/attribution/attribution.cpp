// The method. Let k be the unit before a wait on its rank, and j the unit that the rank waited for last. Both came
// about by chains of units, each the last that the next one waited for; the chains are the ways up in a ChainTree.
// Where they meet, at unit a, both begin at the same time. So the wait is the length of the chain from a to j minus
// that from a to k: whatever happened before a delayed both alike.
//
// The time by which a wait is longer than in the replay at typical times is attributed to the excess of the chain from
// a to j, in proportion. Where that is not enough, what lies above a is taken too, the nearest first: it delayed k as
// well, but less, since k had to wait for something else anyway. A chain holds many units and a unit lies on many
// chains; the fractions are therefore not added unit by unit but put in at j, taken off at a, and summed over the tree
// once.

#include "core/analysis/attribution/attribution.h"

#include "core/analysis/attribution/chain_tree.h"
#include "core/base/large_list.h"
#include "core/base/median.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <mutex>
#include <span>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kKindsPacked = 8; // an excess is less than 36 years
constexpr std::array kDelays{RootCauseKind::InTransfer, RootCauseKind::Blocked, RootCauseKind::ReplayedWork,
                             RootCauseKind::LateStart};

[[nodiscard]] constexpr bool isDelayKind(RootCauseKind kind) {
    return kind >= RootCauseKind::InTransfer;
}

constexpr std::size_t indexOf(RootCauseKind kind) {
    return static_cast<std::size_t>(kind);
}

TimeNs rounded(double time) {
    return TimeNs{std::llround(time)};
}

class Attribution {
public:
    Attribution(const StepTimeline& step, const ObservedStep& observed, const StepReplay& replay,
                const UnitTimes& usual)
        : step_(step), graph_(observed.graph), bindings_(observed.latest), parts_(observed.delays),
          delays_(parts_.total()), replay_(replay), typical_(usual.typical), usual_(usual.usual) {
        findTypicalTransfers();
        findTypicalTimes();
    }

    StepAttribution run() {
        StepAttribution result;
        findBubbles(result);
        rank(result);
        return result;
    }

private:
    void findTypicalTransfers() {
        const auto typicalOf = [this](Way way, TimeNs& typical) {
            std::vector<TimeNs> transfers;
            reserveLarge(transfers, graph_.rank.size());
            for (std::size_t side = 0; side < graph_.sides(); ++side) {
                for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
                    if (graph_.way[side][unit] == way) transfers.push_back(graph_.transfer[side][unit]);
                }
            }
            typical = medianInPlace(transfers);
        };
        const auto activations = [&] { typicalOf(Way::Activation, typical_transfer_[indexOf(Way::Activation)]); };
        const auto gradients = [&] { typicalOf(Way::Gradient, typical_transfer_[indexOf(Way::Gradient)]); };
        parallelCalls(graph_.rank.size(), activations, gradients);
    }

    /// What an optimizer op took is what is typical of it.
    void findTypicalTimes() {
        if (std::ranges::find(graph_.kind, OpKind::Optimizer) == graph_.kind.end()) return;
        own_typical_.assign(typical_.begin(), typical_.end());
        for (std::size_t unit = 0; unit < own_typical_.size(); ++unit) {
            if (graph_.kind[unit] == OpKind::Optimizer) own_typical_[unit] = graph_.end[unit] - graph_.start[unit];
        }
        typical_ = own_typical_;
    }

    [[nodiscard]] const std::vector<TimeNs>& partOf(RootCauseKind delay) const {
        switch (delay) {
        case RootCauseKind::InTransfer: return parts_.communication;
        case RootCauseKind::Blocked: return parts_.peer;
        case RootCauseKind::ReplayedWork: return parts_.replay;
        default: return parts_.late;
        }
    }

    /// Of payload and rank-to-rank transfers only.
    template <class Visit>
    void eachTransfer(Visit visit) const {
        for (std::size_t side = 0; side < graph_.sides(); ++side) {
            for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
                if (graph_.crosses(side, unit)) visit(side, unit);
            }
        }
    }

    /// In the order in which the rank ran them.
    template <class Visit>
    void eachUnitOf(Rank rank, Visit visit) const {
        UnitIndex latest = kNoUnit;
        for (const UnitIndex unit : graph_.unitsOf(rank)) {
            if (unit == latest) continue; // the second half of a pair
            latest = unit;
            visit(unit);
        }
    }

    [[nodiscard]] static constexpr std::size_t indexOf(Way way) { return static_cast<std::size_t>(way); }

    /// By how much a unit's own time is longer than typical.
    struct Longer {
        TimeNs of_stage{0}; ///< as its stage's usually is
        TimeNs of_op{0};
    };
    [[nodiscard]] Longer longerAt(std::size_t unit) const {
        const TimeNs real = graph_.end[unit] - graph_.start[unit];
        const TimeNs typical = typical_[unit];
        // A fast op of a slow stage takes off what the stage is slow by, and a slow op of a fast one likewise.
        const TimeNs over = std::max(TimeNs{0}, real - typical);
        const bool work = graph_.kind[unit] != OpKind::Optimizer;
        const TimeNs slower = work ? usual_[unit] - typical : TimeNs{0};
        const TimeNs of_stage = std::clamp(slower, TimeNs{0}, over);
        return {of_stage, over - of_stage};
    }
    /// Of the transfer that brought what a unit waited for last.
    [[nodiscard]] TimeNs slowTransferTo(std::size_t unit) const {
        const Binding& binding = bindings_[unit];
        if (!binding.crosses) return TimeNs{0};
        const auto side = static_cast<std::size_t>(binding.latest);
        const TimeNs slow = graph_.transfer[side][unit] - typical_transfer_[indexOf(graph_.way[side][unit])];
        return std::max(TimeNs{0}, slow);
    }
    [[nodiscard]] TimeNs excessOf(RootCauseKind kind, std::size_t unit) const {
        switch (kind) {
        case RootCauseKind::SlowStage: return longerAt(unit).of_stage;
        case RootCauseKind::SlowOp: return longerAt(unit).of_op;
        case RootCauseKind::SlowLink: return slowTransferTo(unit);
        default: {
            const std::vector<TimeNs>& part = partOf(kind);
            return part.empty() ? TimeNs{0} : part[unit];
        }
        }
    }
    [[nodiscard]] TimeNs ofStart(std::size_t unit) const {
        const TimeNs delay = delays_.empty() ? TimeNs{0} : delays_[unit];
        return slowTransferTo(unit) + delay;
    }
    [[nodiscard]] TimeNs ofOp(std::size_t unit) const {
        const Longer longer = longerAt(unit);
        return longer.of_stage + longer.of_op;
    }

    /// Excess on the way from a unit up to another, and the part of it that a wait is attributed to.
    struct Share {
        UnitIndex from;
        UnitIndex above;
        double part;
    };
    static constexpr Share kNoShare{kNoUnit, kNoUnit, 0};
    /// A bubble, and to what it is attributed: what lies on its chain, then what delayed both ranks.
    struct Wait {
        AttributedBubble bubble;
        TimeNs attributed{0};
        Share chain = kNoShare;
        Share common = kNoShare;
    };

    void findBubbles(StepAttribution& result) {
        const std::size_t size = graph_.rank.size();
        replayTypical();
        resizeLarge(fraction_, size);
        resizeLarge(start_fraction_, size);
        ListToFill<Share> common; // of the wait before each unit
        resizeLarge(common, size);
        std::vector<Wait> behind; // of each rank that waits after its last unit
        explainWaits(common, behind, result);
        const auto sum = [&] { sumShares(common, behind); };
        const auto replay = [&] {
            if (result.attributed > TimeNs{0}) replayObserved();
        };
        parallelCalls(size, sum, replay);
    }

    /// What is in excess at a unit: of its own time, its start, and the way by which it got what it waited for last.
    [[nodiscard]] ChainTree chainsOfExcess() const {
        return {bindings_, [this](std::size_t unit) { return ofStart(unit) + ofOp(unit); }};
    }

    /// The places of bubbles, of which each thread explains those before a piece of the units. Neighbours in the units'
    /// order are neighbours in all lists, but bubbles are listed rank by rank.
    struct BubblePlaces {
        std::vector<std::size_t> next;   ///< per piece and rank: of its next bubble
        std::vector<std::size_t> begin;  ///< per rank: of its first, and the end of the last
        std::vector<std::size_t> behind; ///< per rank: of the one behind its last unit
    };
    [[nodiscard]] BubblePlaces bubblePlaces() const {
        const std::size_t size = graph_.rank.size();
        const std::size_t ranks = graph_.last.size();
        const std::size_t pieces = size / kParallelItems + 1;
        BubblePlaces places;
        places.next.resize(pieces * ranks);
        parallelPieces(size, [&](std::size_t from, std::size_t to) {
            std::size_t* const counts = places.next.data() + from / kParallelItems * ranks;
            for (std::size_t unit = from; unit < to; ++unit)
                counts[graph_.rank[unit]] += graph_.start[unit] > observedEnd(graph_.previous(unit)) ? 1 : 0;
        });
        std::size_t count = 0;
        for (std::size_t r = 0; r < ranks; ++r) {
            places.begin.push_back(count);
            for (std::size_t piece = 0; piece < pieces; ++piece)
                count += std::exchange(places.next[piece * ranks + r], count);
            places.behind.push_back(count);
            count += graph_.wall > observedEnd(graph_.last[r]) ? 1 : 0;
        }
        places.begin.push_back(count);
        return places;
    }

    void explainWaits(ListToFill<Share>& common, std::vector<Wait>& behind, StepAttribution& result) {
        const ChainTree tree = chainsOfExcess();
        const std::size_t size = graph_.rank.size();
        const std::size_t ranks = graph_.last.size();
        BubblePlaces at = bubblePlaces();
        result.bubbles = AttributedBubbles(std::move(at.begin));
        std::mutex sums;
        const auto sumUp = [&](TimeNs usual, TimeNs attributed, TimeNs unexplained) {
            const std::lock_guard lock(sums);
            result.usual += usual;
            result.attributed += attributed;
            result.unexplained += unexplained;
        };
        const auto unexplainedOf = [](const Wait& wait) {
            return wait.bubble.end - wait.bubble.start - wait.bubble.usual - wait.attributed;
        };
        parallelPieces(size, [&](std::size_t from, std::size_t to) {
            std::size_t* const places = at.next.data() + from / kParallelItems * ranks;
            TimeNs usual{0};
            TimeNs attributed{0};
            TimeNs unexplained{0};
            for (std::size_t i = from; i < to; ++i) {
                const auto unit = static_cast<UnitIndex>(i);
                const UnitIndex before = graph_.previous(i);
                fraction_[i] = start_fraction_[i] = 0;
                common[i] = kNoShare;
                if (graph_.start[i] <= observedEnd(before)) continue;
                const Rank r{graph_.rank[i]};
                const Wait wait = explained(r, unit, bindings_[i].unit, before, graph_.start[i],
                                            typical_ends_[unit] - typical_[i] - typicalEnd(before), tree);
                result.bubbles.set(places[r.index()]++, wait.bubble);
                start_fraction_[i] = wait.chain.part;
                common[i] = {wait.chain.above, wait.common.above, wait.common.part};
                usual += wait.bubble.usual;
                attributed += wait.attributed;
                unexplained += unexplainedOf(wait);
            }
            sumUp(usual, attributed, unexplained);
        });
        const auto last = std::ranges::max_element(graph_.end);
        const UnitIndex end_of_step = size == 0 ? kNoUnit : static_cast<UnitIndex>(last - graph_.end.begin());
        for (std::size_t r = 0; r < ranks; ++r) {
            const UnitIndex before = graph_.last[r];
            if (graph_.wall <= observedEnd(before)) continue;
            behind.push_back(explained(Rank{r}, kNoUnit, end_of_step, before, graph_.wall,
                                       typical_length_ - typicalEnd(before), tree));
            const Wait& wait = behind.back();
            result.bubbles.set(at.behind[r], wait.bubble);
            sumUp(wait.bubble.usual, wait.attributed, unexplainedOf(wait));
        }
    }

    /// Fractions unit by unit, in an order that does not depend on threads: they are sums of many.
    void sumShares(const ListToFill<Share>& common, const std::vector<Wait>& behind) {
        const std::size_t size = graph_.rank.size();
        for (std::size_t unit = 0; unit < size; ++unit) {
            share({bindings_[unit].unit, common[unit].from, start_fraction_[unit]});
            share(common[unit]);
        }
        for (const Wait& wait : behind) {
            share(wait.chain);
            share(wait.common);
        }
        for (std::size_t unit = size; unit-- > 0;) {
            if (const UnitIndex above = bindings_[unit].unit; above != kNoUnit)
                fraction_[StepGraph::at(above)] += fraction_[unit];
        }
    }

    [[nodiscard]] TimeNs observedEnd(UnitIndex unit) const {
        return unit == kNoUnit ? TimeNs{0} : graph_.end[StepGraph::at(unit)];
    }
    /// After replayTypical().
    [[nodiscard]] TimeNs typicalEnd(UnitIndex unit) const { return typical_ends_[unit]; }

    /// The step at typical times, in the order in which it ran: the ends of its units.
    void replayTypical() {
        typical_ends_.resize(graph_.rank.size());
        forwardPass(
            graph_.tasks(), typical_ends_,
            [this, by_way = typical_transfer_.data()](const EdgePlace& edge) {
                if (edge.slot == 0) return TimeNs{0};
                return by_way[indexOf(graph_.way[edge.slot - 1][StepGraph::at(edge.task)])];
            },
            [typical = typical_.data()](UnitIndex unit, TimeNs ready) { return ready + typical[unit]; });
        typical_length_ = TimeNs{0};
        for (const UnitIndex last : graph_.last)
            typical_length_ = std::max(typical_length_, typical_ends_[last]);
    }

    /// A bubble before the unit `waiting` (kNoUnit: behind the rank's last) that ended when what followed from
    /// `waited_for` was there; the rank had run `before`.
    [[nodiscard]] Wait explained(Rank rank, UnitIndex waiting, UnitIndex waited_for, UnitIndex before, TimeNs end,
                                 TimeNs usual, const ChainTree& tree) const {
        Wait result;
        AttributedBubble& bubble = result.bubble;
        const TimeNs start = observedEnd(before);
        bubble = {rank, waiting, start, end, std::clamp(usual, TimeNs{0}, end - start), std::nullopt};
        const TimeNs longer = end - start - bubble.usual;
        if (longer == TimeNs{0}) return result;
        const UnitIndex meeting = tree.meet(waited_for, before);
        const TimeNs of_start = waiting == kNoUnit ? TimeNs{0} : ofStart(StepGraph::at(waiting));
        const TimeNs on_chain = tree.sum(waited_for, meeting) + of_start;
        const TimeNs attributed = std::max(TimeNs{0}, std::min(longer, on_chain));
        result.chain = {waited_for, meeting, partOf(attributed, on_chain)};
        // What delayed both, but the unit before the wait less, since that had to wait for something else as well.
        const UnitIndex top = tree.enough(meeting, longer - attributed);
        const TimeNs in_common = tree.sum(meeting, top);
        const TimeNs rest = std::max(TimeNs{0}, std::min(longer - attributed, in_common));
        result.common = {meeting, top, partOf(rest, in_common)};
        result.attributed = attributed + rest;
        if (attributed + rest == TimeNs{0}) return result;
        bubble.cause = attributed >= rest ? largestExcess(tree.largest(waited_for, meeting), waiting)
                                          : largestExcess(tree.largest(meeting, top), kNoUnit);
        return result;
    }
    static double partOf(TimeNs time, TimeNs excess) {
        return time == TimeNs{0} ? 0 : static_cast<double>(time.count()) / static_cast<double>(excess.count());
    }

    void share(const Share& share) {
        if (share.part == 0) return;
        if (share.from != kNoUnit) fraction_[StepGraph::at(share.from)] += share.part;
        if (share.above != kNoUnit) fraction_[StepGraph::at(share.above)] -= share.part;
    }

    [[nodiscard]] Excess largestExcess(UnitIndex on_chain, UnitIndex waiting) const {
        Excess best;
        const auto consider = [&](RootCauseKind kind, UnitIndex unit, TimeNs time) {
            if (time > best.time) best = {kind, unit, time};
        };
        const auto considerStart = [&](UnitIndex unit) {
            if (unit == kNoUnit) return;
            consider(RootCauseKind::SlowLink, unit, slowTransferTo(StepGraph::at(unit)));
            if (delays_.empty()) return;
            for (const RootCauseKind kind : kDelays)
                consider(kind, unit, excessOf(kind, StepGraph::at(unit)));
        };
        if (on_chain != kNoUnit) {
            const Longer longer = longerAt(StepGraph::at(on_chain));
            consider(RootCauseKind::SlowStage, on_chain, longer.of_stage);
            consider(RootCauseKind::SlowOp, on_chain, longer.of_op);
        }
        considerStart(on_chain);
        considerStart(waiting);
        return best;
    }

    /// What is counted together: a stage's ops, a link's transfers, a rank's delays of a kind; slow ops on their own.
    struct Candidate {
        RootCause root_cause;
        double waits = 0;
    };
    struct Sum {
        std::int64_t count = 0;
        TimeNs excess{0};
        double waits = 0;
        Rank peer; ///< of a link
    };

    using SlowOp = std::pair<double, UnitIndex>; ///< what it made wait, and which it is
    static void keepGreatest(std::vector<SlowOp>& worst, const SlowOp& op) {
        if (worst.size() == kMaxRootCauses) {
            if (op <= worst.back()) return;
            worst.pop_back();
        }
        worst.insert(std::ranges::upper_bound(worst, op, std::ranges::greater{}), op);
    }
    static void addCandidate(std::vector<Candidate>& to, const Sum& sum, RootCause root_cause) {
        if (sum.waits < 1) return; // rounding leaves dust
        root_cause.count = sum.count;
        root_cause.excess = sum.excess;
        to.push_back({std::move(root_cause), sum.waits});
    }
    static RootCause rootCauseOf(RootCauseKind kind, std::size_t rank) {
        RootCause root_cause;
        root_cause.kind = kind;
        root_cause.rank = Rank{rank};
        return root_cause;
    }

    void rank(StepAttribution& result) {
        std::vector<Candidate> candidates = gather();
        const auto worst_first = [](const Candidate& a, const Candidate& b) { return a.waits > b.waits; };
        const auto most = static_cast<std::ptrdiff_t>(std::min(candidates.size(), kMaxRootCauses));
        std::ranges::partial_sort(candidates, candidates.begin() + most, worst_first);
        candidates.resize(static_cast<std::size_t>(most));
        if (candidates.empty()) return;

        if (observed_.empty()) replayObserved();
        result.ranking.resize(candidates.size());
        // A replay needs lists of its own, so no more than two run at once: in those of the observed step, and in the
        // ends at typical times, which nobody asks for any more.
        constexpr std::size_t kLanes = 2;
        std::array<ListToFill<TimeNs>, kLanes> durations{std::move(observed_)};
        std::array<TaskTimes, kLanes> ends{std::move(observed_ends_), std::move(typical_ends_)};
        parallelGroups(std::min(kLanes, candidates.size()), graph_.rank.size(), [&](std::size_t lane) {
            if (durations[lane].empty()) durations[lane] = observedDurations();
            for (std::size_t i = lane; i < candidates.size(); i += kLanes) {
                RootCause& root_cause = candidates[i].root_cause;
                root_cause.waits = rounded(candidates[i].waits);
                root_cause.saves = observed_length_ - lengthWithout(root_cause, durations[lane], ends[lane]);
                // A rank's bubble is what its ops leave of the step.
                root_cause.idle.assign(graph_.last.size(), root_cause.saves);
                if (isOfOps(root_cause.kind)) root_cause.idle[root_cause.rank.index()] -= root_cause.excess;
                result.ranking[i] = std::move(root_cause);
            }
        });
        std::ranges::sort(result.ranking, std::ranges::greater{},
                          [](const RootCause& root_cause) { return std::pair(root_cause.saves, root_cause.waits); });
    }

    [[nodiscard]] ListToFill<TimeNs> observedDurations() const {
        ListToFill<TimeNs> durations;
        resizeLarge(durations, graph_.rank.size());
        for (UnitIndex unit = 0; unit < graph_.size(); ++unit)
            durations[StepGraph::at(unit)] = graph_.duration(unit);
        return durations;
    }
    void replayObserved() {
        observed_ = observedDurations();
        observed_length_ = replay_.run({observed_, &graph_.transfer, delays_}, observed_ends_);
    }

    [[nodiscard]] static bool isOfOps(RootCauseKind kind) {
        return kind == RootCauseKind::SlowOp || kind == RootCauseKind::SlowStage;
    }

    /// Of a replay without a cause. `durations` are the observed ones, also afterwards.
    [[nodiscard]] TimeNs lengthWithout(const RootCause& root_cause, ListToFill<TimeNs>& durations,
                                       TaskTimes& ends) const {
        if (root_cause.kind == RootCauseKind::SlowLink) {
            const InputTimes transfers = atTypicalTime(root_cause);
            return replay_.run({durations, &transfers, delays_}, ends);
        }
        if (isDelayKind(root_cause.kind)) {
            const std::vector<TimeNs> delays = onTime(root_cause);
            return replay_.run({durations, &graph_.transfer, delays}, ends);
        }
        addExcess(root_cause, -1, durations);
        const TimeNs length = replay_.run({durations, &graph_.transfer, delays_}, ends);
        addExcess(root_cause, 1, durations);
        return length;
    }

    std::vector<Candidate> gather() {
        const std::size_t ranks = graph_.last.size();
        const auto chunks = static_cast<std::size_t>(std::max(1, step_.vpp));
        std::vector<Sum> stages(ranks * chunks);
        std::vector<Sum> links(ranks * 2);
        std::vector<std::array<Sum, kDelays.size()>> starts(ranks);
        std::vector<Candidate> all;
        const auto count = [](Sum& to, TimeNs excess, double fraction) {
            if (excess == TimeNs{0}) return;
            ++to.count;
            to.excess += excess;
            to.waits += fraction * static_cast<double>(excess.count());
        };
        const auto ofOpAt = [this](std::size_t unit) { return std::max(0.0, fraction_[unit]); };
        const auto ofStartAt = [&](std::size_t unit) { return ofOpAt(unit) + start_fraction_[unit]; };
        // Of the many slow ops only those that can get into the ranking, the worst first. In two halves by rank, the
        // sums of a rank's stages in the order of its units: neighbours among those are mostly of one half.
        std::array<std::vector<SlowOp>, 2> slow_ops;
        const auto gatherOps = [&](std::size_t half) {
            for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
                const auto rank = StepGraph::at(graph_.rank[unit]);
                if ((2 * rank < ranks ? 0U : 1U) != half) continue;
                const Longer longer = longerAt(unit);
                if (const Chunk chunk = graph_.chunk[unit]; chunk.value >= 0 && chunk.index() < chunks)
                    count(stages[rank * chunks + chunk.index()], longer.of_stage, ofOpAt(unit));
                const double waits = ofOpAt(unit) * static_cast<double>(longer.of_op.count());
                if (waits > 0) keepGreatest(slow_ops[half], {waits, static_cast<UnitIndex>(unit)});
            }
        };
        const auto gatherLinks = [&] {
            for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
                if (!bindings_[unit].crosses) continue;
                const auto rank = StepGraph::at(graph_.rank[unit]);
                const Rank from{graph_.rank[StepGraph::at(bindings_[unit].unit)]};
                const std::size_t next = from.index() + 1 == ranks ? 0 : from.index() + 1;
                Sum& link = links[2 * from.index() + (rank == next ? 0U : 1U)];
                link.peer = Rank{rank};
                count(link, slowTransferTo(unit), ofStartAt(unit));
            }
        };
        const auto gatherStarts = [&] {
            for (std::size_t i = 0; i < kDelays.size(); ++i) {
                const std::vector<TimeNs>& part = partOf(kDelays[i]);
                for (std::size_t unit = 0; unit < part.size(); ++unit)
                    count(starts[StepGraph::at(graph_.rank[unit])][i], part[unit], ofStartAt(unit));
            }
        };
        parallelCalls(
            graph_.rank.size(), [&] { gatherOps(0); }, [&] { gatherOps(1); }, gatherLinks, gatherStarts);
        for (const SlowOp& op : slow_ops[1])
            keepGreatest(slow_ops[0], op);
        for (const auto& [waits, unit] : slow_ops[0]) {
            Sum op;
            count(op, longerAt(StepGraph::at(unit)).of_op, ofOpAt(StepGraph::at(unit)));
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowOp, Rank{graph_.rank[StepGraph::at(unit)]}.index());
            root_cause.unit = unit;
            addCandidate(all, op, std::move(root_cause));
        }
        for (std::size_t i = 0; i < stages.size(); ++i) {
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowStage, i / chunks);
            root_cause.chunk = Chunk{i % chunks};
            addCandidate(all, stages[i], std::move(root_cause));
        }
        for (std::size_t i = 0; i < links.size(); ++i) {
            RootCause root_cause = rootCauseOf(RootCauseKind::SlowLink, i / 2);
            root_cause.peer = links[i].peer;
            addCandidate(all, links[i], std::move(root_cause));
        }
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            for (std::size_t i = 0; i < kDelays.size(); ++i)
                addCandidate(all, starts[rank][i], rootCauseOf(kDelays[i], rank));
        }
        return all;
    }

    /// Adds the excess of a slow op or stage to its ops' durations, `times` over.
    void addExcess(const RootCause& root_cause, int times, ListToFill<TimeNs>& durations) const {
        if (root_cause.unit) {
            const std::size_t unit = StepGraph::at(*root_cause.unit);
            durations[unit] += times * excessOf(root_cause.kind, unit);
            return;
        }
        eachUnitOf(root_cause.rank, [&](UnitIndex unit) {
            if (graph_.chunk[StepGraph::at(unit)] == root_cause.chunk)
                durations[StepGraph::at(unit)] += times * excessOf(root_cause.kind, StepGraph::at(unit));
        });
    }

    /// All transfers, with those of a slow link no longer than is typical.
    [[nodiscard]] InputTimes atTypicalTime(const RootCause& link) const {
        InputTimes transfers = graph_.transfer;
        eachTransfer([&](std::size_t side, std::size_t unit) {
            const UnitIndex from = graph_.input(side, unit);
            if (graph_.rank[StepGraph::at(from)] != link.rank.value || graph_.rank[unit] != link.peer->value) return;
            transfers[side][unit] = std::min(transfers[side][unit], typical_transfer_[indexOf(graph_.way[side][unit])]);
        });
        return transfers;
    }

    /// The delays without a rank's of one kind.
    [[nodiscard]] std::vector<TimeNs> onTime(const RootCause& root_cause) const {
        std::vector<TimeNs> delays = delays_;
        const std::vector<TimeNs>& part = partOf(root_cause.kind);
        for (std::size_t unit = 0; unit < part.size(); ++unit) {
            if (graph_.rank[unit] == root_cause.rank.value) delays[unit] -= part[unit];
        }
        return delays;
    }

    const StepTimeline& step_;
    const StepGraph& graph_;
    const std::vector<Binding>& bindings_;
    const DelayParts& parts_;
    std::vector<TimeNs> delays_; ///< their sum, that stay in a replay; empty where there are none
    const StepReplay& replay_;
    TaskTimes typical_ends_; ///< at typical times
    TimeNs typical_length_{0};
    ListToFill<TimeNs> observed_;              ///< durations of its replay, while there are any
    TaskTimes observed_ends_;                  ///< of that replay
    TimeNs observed_length_{0};                ///< the same
    std::span<const TimeNs> typical_;          ///< per unit
    std::span<const TimeNs> usual_;            ///< per unit
    std::vector<TimeNs> own_typical_;          ///< where `typical_` is not that of UnitTimes
    std::array<TimeNs, 4> typical_transfer_{}; ///< per way; 0 where nothing is transferred
    ListToFill<double> fraction_;              ///< per unit: the sum of the fractions in which its excess is attributed
    ListToFill<double> start_fraction_;        ///< the same for its start alone, by the wait before it
};

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
    }
    return "";
}

StepAttribution attributeWaits(const StepTimeline& step, const ObservedStep& observed, const StepReplay& replay,
                               const UnitTimes& usual) {
    return Attribution(step, observed, replay, usual).run();
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
