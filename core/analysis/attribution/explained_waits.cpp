// Method. Let k be the unit before a wait on its rank, and j the unit that the rank waited for last. Chains of latest
// predecessors lead to both; they are paths in a ChainTree. They meet at a unit a, from which both start at the same
// time. The wait is therefore the length of the chain from a to j minus the length of the chain from a to k, because
// everything before a delayed both equally.
//
// The time by which a wait is longer than in the replay at typical times is attributed to the excess of the chain from
// a to j, in proportion. If that is not enough, the excess above a also counts, nearest first. That excess also delayed
// k, but less, because k had to wait for something else anyway. A chain has many units and a unit is on many chains, so
// fractions are not added unit by unit: they are added at j, subtracted at a, and summed over the tree once.

#include "core/analysis/attribution/explained_waits.h"

#include "core/base/parallel.h"

#include <mutex>
#include <optional>
#include <span>

namespace bubblescope {
namespace {

double partOf(TimeNs time, TimeNs excess) {
    return time == TimeNs{0} ? 0 : static_cast<double>(time.count()) / static_cast<double>(excess.count());
}

} // namespace

/// A bubble before the unit `waiting` (kNoUnit: after the rank's last) that ended when the result of `waited_for`
/// arrived; the rank had run `before`. Inline, because it is called for each unit.
inline ExplainedWaits::Wait ExplainedWaits::explained(Rank rank, UnitIndex waiting, UnitIndex waited_for,
                                                      UnitIndex before, TimeNs end, TimeNs usual,
                                                      const ChainTree& tree) const {
    Wait result;
    AttributedBubble& bubble = result.bubble;
    const TimeNs start = observedEnd(before);
    bubble = {rank, waiting, start, end, std::clamp(usual, TimeNs{0}, end - start), std::nullopt};
    const TimeNs longer = end - start - bubble.usual;
    if (longer == TimeNs{0}) return result;
    const UnitIndex meeting = tree.meet(waited_for, before);
    const TimeNs of_start = waiting == kNoUnit ? TimeNs{0} : excess_.ofStart(StepGraph::at(waiting));
    const TimeNs on_chain = tree.sum(waited_for, meeting) + of_start;
    const TimeNs attributed = std::max(TimeNs{0}, std::min(longer, on_chain));
    result.chain = {waited_for, meeting, partOf(attributed, on_chain)};
    // The excess that delayed both; the unit before the wait was delayed less, because it had to wait for something
    // else as well.
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

StepAttribution ExplainedWaits::explain() {
    const std::size_t size = graph_.rank.size();
    const std::size_t ranks = graph_.last.size();
    const std::vector<Binding>& bindings = excess_.bindings();
    const std::span<const TimeNs> typical = excess_.typical();
    replayTypical();
    resizeLarge(fraction_, size);
    resizeLarge(start_fraction_, size);
    resizeLarge(common_, size);
    const ChainTree tree = chainsOfExcess();
    BubblePlaces at = bubblePlaces();
    StepAttribution result;
    result.bubbles = AttributedBubbles(std::move(at.begin));
    std::mutex sums;
    const auto sumUp = [&](TimeNs usual, TimeNs attributed, TimeNs unexplained) {
        const std::lock_guard lock(sums);
        result.usual += usual;
        result.attributed += attributed;
        result.unexplained += unexplained;
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
            common_[i] = kNoShare;
            if (graph_.start[i] <= observedEnd(before)) continue;
            const Rank r{graph_.rank[i]};
            const Wait wait = explained(r, unit, bindings[i].unit, before, graph_.start[i],
                                        typical_ends_[unit] - typical[i] - typicalEnd(before), tree);
            result.bubbles.set(places[r.index()]++, wait.bubble);
            start_fraction_[i] = wait.chain.part;
            common_[i] = {wait.chain.above, wait.common.above, wait.common.part};
            usual += wait.bubble.usual;
            attributed += wait.attributed;
            unexplained += wait.unexplained();
        }
        sumUp(usual, attributed, unexplained);
    });
    const auto last = std::ranges::max_element(graph_.end);
    const UnitIndex end_of_step = size == 0 ? kNoUnit : static_cast<UnitIndex>(last - graph_.end.begin());
    for (std::size_t r = 0; r < ranks; ++r) {
        const UnitIndex before = graph_.last[r];
        if (graph_.wall <= observedEnd(before)) continue;
        behind_.push_back(
            explained(Rank{r}, kNoUnit, end_of_step, before, graph_.wall, typical_length_ - typicalEnd(before), tree));
        const Wait& wait = behind_.back();
        result.bubbles.set(at.behind[r], wait.bubble);
        sumUp(wait.bubble.usual, wait.attributed, wait.unexplained());
    }
    return result;
}

/// Sums fractions unit by unit, in an order that does not depend on threads, because they are sums of many terms.
void ExplainedWaits::sumShares() {
    const std::vector<Binding>& bindings = excess_.bindings();
    const std::size_t size = graph_.rank.size();
    for (std::size_t unit = 0; unit < size; ++unit) {
        add({bindings[unit].unit, common_[unit].from, start_fraction_[unit]});
        add(common_[unit]);
    }
    for (const Wait& wait : behind_) {
        add(wait.chain);
        add(wait.common);
    }
    for (std::size_t unit = size; unit-- > 0;) {
        if (const UnitIndex above = bindings[unit].unit; above != kNoUnit)
            fraction_[StepGraph::at(above)] += fraction_[unit];
    }
    common_ = {};
}

/// Replays the step at typical times, in the order in which it ran, to get the ends of its units.
void ExplainedWaits::replayTypical() {
    typical_ends_.resize(graph_.rank.size());
    const auto pass = [&](auto lag) {
        forwardPass(
            graph_.tasks(), typical_ends_, lag,
            [typical = excess_.typical().data()](UnitIndex unit, TimeNs ready) { return ready + typical[unit]; });
    };
    const auto transferTo = [&graph = graph_, &excess = excess_](std::size_t side, std::size_t unit) {
        return excess.typicalTransfer(graph.way[side][unit]);
    };
    if (graph_.holds.empty()) {
        pass([&](const EdgePlace& edge) {
            return edge.slot == 0 ? TimeNs{0} : transferTo(edge.slot - 1, StepGraph::at(edge.task));
        });
    } else {
        pass([&](const EdgePlace& edge) {
            if (edge.from == kNoUnit) return TimeNs{0};
            return lagOf(graph_.holds, transferTo, edge.slot, StepGraph::at(edge.task));
        });
    }
    typical_length_ = TimeNs{0};
    for (const UnitIndex last : graph_.last)
        typical_length_ = std::max(typical_length_, typical_ends_[last]);
}

/// The excess at each unit: of its own time, its start, and the transfer of the input that it waited for last.
ChainTree ExplainedWaits::chainsOfExcess() const {
    return {excess_.bindings(), [this](std::size_t unit) { return excess_.ofStart(unit) + excess_.ofOp(unit); }};
}

ExplainedWaits::BubblePlaces ExplainedWaits::bubblePlaces() const {
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

/// The largest excess of one unit and of another unit's start; kNoUnit for none.
Excess ExplainedWaits::largestExcess(UnitIndex on_chain, UnitIndex waiting) const {
    Excess best;
    const auto consider = [&](RootCauseKind kind, UnitIndex unit, TimeNs time) {
        if (time > best.time) best = {kind, unit, time};
    };
    const auto considerStart = [&](UnitIndex unit) {
        if (unit == kNoUnit) return;
        consider(RootCauseKind::SlowLink, unit, excess_.slowTransferTo(StepGraph::at(unit)));
        if (excess_.delays().empty()) return;
        for (const RootCauseKind kind : kDelayKinds)
            consider(kind, unit, excess_.ofKind(kind, StepGraph::at(unit)));
    };
    if (on_chain != kNoUnit) {
        const StepExcess::Longer longer = excess_.longerAt(StepGraph::at(on_chain));
        consider(RootCauseKind::SlowStage, on_chain, longer.of_stage);
        consider(RootCauseKind::SlowOp, on_chain, longer.of_op);
    }
    considerStart(on_chain);
    considerStart(waiting);
    return best;
}

} // namespace bubblescope
