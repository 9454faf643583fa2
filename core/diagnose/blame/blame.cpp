// The method. Let k be the unit before a wait on its rank, and j the unit that the rank waited for last. Both came
// about by chains of units, each the last that the next one waited for; the chains are the ways up in a ChainTree.
// Where they meet, at unit a, both begin at the same time. So the wait is the length of the chain from a to j minus
// that from a to k: whatever happened before a delayed both alike.
//
// What a wait is longer than in the replay at typical times is blamed on the excess of the chain from a to j, in
// proportion. Where that is not enough, what lies above a is blamed too, the nearest first: it delayed k as well, but
// less, since k had to wait for something else anyway. A chain holds many units and a unit lies on many chains; the
// shares are therefore not added unit by unit but put in at j, taken off at a, and summed over the tree once.

#include "core/diagnose/blame/blame.h"

#include "core/base/median.h"
#include "core/diagnose/blame/chain_tree.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::size_t kKinds = 4;

constexpr std::size_t indexOf(CulpritKind kind) {
    return static_cast<std::size_t>(kind);
}

TimeNs rounded(double time) {
    return TimeNs{std::llround(time)};
}

class Blame {
public:
    Blame(const StepTimeline& step, const ObservedStep& observed, StepReplay& replay, const UsualTimes& usual)
        : step_(step), graph_(observed.graph), bindings_(observed.latest), delays_(observed.delays.total()),
          replay_(replay) {
        readExcess(usual);
    }

    StepBlame run() {
        StepBlame result;
        const ChainTree tree(bindings_, weights());
        findBubbles(tree, result);
        rank(result);
        return result;
    }

private:
    void readExcess(const UsualTimes& usual) {
        const std::size_t size = graph_.rank.size();
        typical_.resize(size);
        usual_.resize(size);
        for (auto& list : excess_)
            list.assign(size, TimeNs{0});
        std::array<std::vector<TimeNs>, 2> transfers; // by payload
        eachTransfer([&](std::size_t side, std::size_t unit) {
            transfers[payload(side, unit)].push_back(graph_.transfer[side][unit]);
        });
        for (std::size_t p = 0; p < 2; ++p)
            typical_transfer_[p] = median(std::move(transfers[p]));
        for (std::size_t unit = 0; unit < size; ++unit) {
            const Rank rank{graph_.rank[unit]};
            const TimeNs real = graph_.end[unit] - graph_.start[unit];
            const auto first = StepGraph::at(graph_.op[unit]);
            const auto& ops = step_.ranks[rank.index()];
            const UsualTimes::Times times = usual.of(rank, ops, first);
            const bool work = ops[first].op.kind != OpKind::Optimizer;
            typical_[unit] = work ? std::max(TimeNs{0}, times.typical) : real;
            usual_[unit] = work ? std::max(TimeNs{0}, times.usual) : real;
            // A fast op of a slow stage takes off what the stage is slow by, and a slow op of a fast one likewise.
            const TimeNs over = std::max(TimeNs{0}, real - typical_[unit]);
            const TimeNs of_stage = std::clamp(usual_[unit] - typical_[unit], TimeNs{0}, over);
            excess_[indexOf(CulpritKind::SlowStage)][unit] = of_stage;
            excess_[indexOf(CulpritKind::SlowOp)][unit] = over - of_stage;
            excess_[indexOf(CulpritKind::LateStart)][unit] = std::max(TimeNs{0}, graph_.delay[unit]);
            const Binding& binding = bindings_[unit];
            if (!binding.crosses) continue;
            const auto side = static_cast<std::size_t>(binding.latest);
            const TimeNs slow = graph_.transfer[side][unit] - typical_transfer_[payload(side, unit)];
            excess_[indexOf(CulpritKind::SlowLink)][unit] = std::max(TimeNs{0}, slow);
        }
    }

    /// Of payload and rank-to-rank transfers only.
    template <class Visit>
    void eachTransfer(Visit visit) const {
        for (std::size_t side = 0; side < (graph_.hasPairs() ? 2U : 1U); ++side) {
            for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
                const UnitIndex from = graph_.input[side][unit];
                if (from != kNoUnit && graph_.rank[StepGraph::at(from)] != graph_.rank[unit]) visit(side, unit);
            }
        }
    }

    [[nodiscard]] std::size_t payload(std::size_t side, std::size_t unit) const {
        const auto& ops = step_.ranks[StepGraph::at(graph_.rank[unit])];
        return static_cast<std::size_t>(payloadOf(ops[StepGraph::at(graph_.op[unit]) + side].op.kind));
    }

    /// What is in excess at a unit: of its own time, its start, and the way by which it got what it waited for last.
    [[nodiscard]] std::vector<TimeNs> weights() const {
        std::vector<TimeNs> result(graph_.rank.size());
        for (std::size_t unit = 0; unit < result.size(); ++unit)
            result[unit] = ofStart(unit) + ofOp(unit);
        return result;
    }
    [[nodiscard]] TimeNs ofStart(std::size_t unit) const {
        return excess_[indexOf(CulpritKind::SlowLink)][unit] + excess_[indexOf(CulpritKind::LateStart)][unit];
    }
    [[nodiscard]] TimeNs ofOp(std::size_t unit) const {
        return excess_[indexOf(CulpritKind::SlowStage)][unit] + excess_[indexOf(CulpritKind::SlowOp)][unit];
    }

    void findBubbles(const ChainTree& tree, StepBlame& result) {
        const std::size_t size = graph_.rank.size();
        const TimeNs typical_length = replayTypical();
        share_.assign(size, 0);
        share_of_start_.assign(size, 0);
        const auto last = std::ranges::max_element(graph_.end);
        const UnitIndex end_of_step = size == 0 ? kNoUnit : static_cast<UnitIndex>(last - graph_.end.begin());

        std::vector<std::vector<UnitIndex>> units(graph_.last.size());
        for (UnitIndex unit = 0; unit < graph_.size(); ++unit)
            units[StepGraph::at(graph_.rank[StepGraph::at(unit)])].push_back(unit);
        result.bubbles.reserve(size);
        for (std::size_t r = 0; r < units.size(); ++r) {
            for (const UnitIndex unit : units[r]) {
                const std::size_t i = StepGraph::at(unit);
                const UnitIndex before = graph_.previous[i];
                add({Rank{r}, unit, observedEnd(before), graph_.start[i], {}, {}}, bindings_[i].unit, before,
                    replay_.end(unit) - typical_[i] - typicalEnd(before), tree, result);
            }
            add({Rank{r}, kNoUnit, observedEnd(graph_.last[r]), graph_.wall, {}, {}}, end_of_step, graph_.last[r],
                typical_length - typicalEnd(graph_.last[r]), tree, result);
        }
        for (std::size_t unit = size; unit-- > 0;) {
            if (const UnitIndex above = bindings_[unit].unit; above != kNoUnit)
                share_[StepGraph::at(above)] += share_[unit];
        }
    }

    [[nodiscard]] TimeNs observedEnd(UnitIndex unit) const {
        return unit == kNoUnit ? TimeNs{0} : graph_.end[StepGraph::at(unit)];
    }
    /// After replayTypical().
    [[nodiscard]] TimeNs typicalEnd(UnitIndex unit) const { return unit == kNoUnit ? TimeNs{0} : replay_.end(unit); }

    /// The length of the step at typical times, in the order in which it ran; `replay_` has the ends of its units.
    TimeNs replayTypical() {
        std::array<std::vector<TimeNs>, 2> transfers = graph_.transfer;
        eachTransfer([&](std::size_t side, std::size_t unit) {
            transfers[side][unit] = typical_transfer_[payload(side, unit)];
        });
        return replay_.run({typical_, &transfers, {}});
    }

    /// A bubble that ended when what followed from `waited_for` was there; the rank had run `before`.
    void add(BlamedBubble bubble, UnitIndex waited_for, UnitIndex before, TimeNs usual, const ChainTree& tree,
             StepBlame& result) {
        const TimeNs wait = bubble.end - bubble.start;
        if (wait <= TimeNs{0}) return;
        bubble.usual = std::clamp(usual, TimeNs{0}, wait);
        result.usual += bubble.usual;
        const TimeNs longer = wait - bubble.usual;
        if (longer > TimeNs{0}) {
            const UnitIndex meeting = tree.meet(waited_for, before);
            const TimeNs of_start = bubble.before == kNoUnit ? TimeNs{0} : ofStart(StepGraph::at(bubble.before));
            const TimeNs on_chain = tree.sum(waited_for, meeting) + of_start;
            const TimeNs blamed = blameOn(waited_for, meeting, bubble.before, std::min(longer, on_chain), on_chain);
            // What delayed both, but the unit before the wait less, since that had to wait for something else as well.
            const UnitIndex top = tree.enough(meeting, longer - blamed);
            const TimeNs in_common = tree.sum(meeting, top);
            const TimeNs rest = blameOn(meeting, top, kNoUnit, std::min(longer - blamed, in_common), in_common);
            if (blamed + rest > TimeNs{0}) {
                bubble.cause = blamed >= rest ? largestExcess(tree.largest(waited_for, meeting), bubble.before)
                                              : largestExcess(tree.largest(meeting, top), kNoUnit);
            }
            result.blamed += blamed + rest;
            result.unexplained += longer - blamed - rest;
        }
        result.bubbles.push_back(bubble);
    }

    /// Blames `time` on the excess of the way from `from` up to `above`, and of the start of `waiting`: `excess` in
    /// all.
    TimeNs blameOn(UnitIndex from, UnitIndex above, UnitIndex waiting, TimeNs time, TimeNs excess) {
        if (time <= TimeNs{0}) return TimeNs{0};
        const double part = static_cast<double>(time.count()) / static_cast<double>(excess.count());
        if (from != kNoUnit) share_[StepGraph::at(from)] += part;
        if (above != kNoUnit) share_[StepGraph::at(above)] -= part;
        if (waiting != kNoUnit) share_of_start_[StepGraph::at(waiting)] += part;
        return time;
    }

    [[nodiscard]] Excess largestExcess(UnitIndex on_chain, UnitIndex waiting) const {
        Excess best;
        const auto consider = [&](UnitIndex unit, CulpritKind kind) {
            const TimeNs time = unit == kNoUnit ? TimeNs{0} : excess_[indexOf(kind)][StepGraph::at(unit)];
            if (time > best.time) best = {kind, unit, time};
        };
        for (const CulpritKind kind :
             {CulpritKind::SlowStage, CulpritKind::SlowOp, CulpritKind::SlowLink, CulpritKind::LateStart})
            consider(on_chain, kind);
        consider(waiting, CulpritKind::SlowLink);
        consider(waiting, CulpritKind::LateStart);
        return best;
    }

    /// What is counted together: a stage's ops, a link's transfers, a rank's late starts; slow ops on their own.
    struct Candidate {
        Culprit culprit;
        double waits = 0;
    };

    void rank(StepBlame& result) {
        std::vector<Candidate> candidates = gather();
        const auto worst_first = [](const Candidate& a, const Candidate& b) { return a.waits > b.waits; };
        const auto most = static_cast<std::ptrdiff_t>(std::min(candidates.size(), kMostCulprits));
        std::ranges::partial_sort(candidates, candidates.begin() + most, worst_first);
        candidates.resize(static_cast<std::size_t>(most));
        if (candidates.empty()) return;

        std::vector<TimeNs> observed(graph_.rank.size());
        for (UnitIndex unit = 0; unit < graph_.size(); ++unit)
            observed[StepGraph::at(unit)] = graph_.duration(unit);
        const TimeNs length = replay_.run({observed, &graph_.transfer, delays_});
        for (Candidate& candidate : candidates) {
            Culprit& culprit = candidate.culprit;
            culprit.waits = rounded(candidate.waits);
            std::array<std::vector<TimeNs>, 2> transfers;
            std::vector<TimeNs> delays;
            const bool of_ops = culprit.kind == CulpritKind::SlowOp || culprit.kind == CulpritKind::SlowStage;
            if (of_ops) addExcess(culprit, -1, observed);
            if (culprit.kind == CulpritKind::SlowLink) transfers = atTypicalTime(culprit);
            if (culprit.kind == CulpritKind::LateStart) delays = onTime(culprit);
            const TimeNs without =
                replay_.run({observed, culprit.kind == CulpritKind::SlowLink ? &transfers : &graph_.transfer,
                             culprit.kind == CulpritKind::LateStart ? delays : delays_});
            if (of_ops) addExcess(culprit, 1, observed);
            culprit.saves = length - without;
            // A rank's bubble is what its ops leave of the step.
            culprit.idle.assign(graph_.last.size(), culprit.saves);
            if (of_ops) culprit.idle[culprit.rank.index()] -= culprit.excess;
            result.ranking.push_back(std::move(culprit));
        }
        std::ranges::sort(result.ranking, std::ranges::greater{},
                          [](const Culprit& culprit) { return std::pair(culprit.saves, culprit.waits); });
    }

    [[nodiscard]] Chunk chunkOf(std::size_t unit) const {
        return step_.ranks[StepGraph::at(graph_.rank[unit])][StepGraph::at(graph_.op[unit])].op.chunk;
    }

    std::vector<Candidate> gather() {
        const std::size_t ranks = graph_.last.size();
        const auto chunks = static_cast<std::size_t>(std::max(1, step_.vpp));
        std::vector<Candidate> stages(ranks * chunks);
        std::vector<Candidate> links(ranks * 2);
        std::vector<Candidate> starts(ranks);
        std::vector<std::pair<double, UnitIndex>> slow_ops;
        std::vector<Candidate> all;
        const auto count = [&](Candidate& to, CulpritKind kind, std::size_t unit, double share) {
            const TimeNs excess = excess_[indexOf(kind)][unit];
            if (excess == TimeNs{0}) return;
            to.culprit.kind = kind;
            ++to.culprit.count;
            to.culprit.excess += excess;
            to.waits += share * static_cast<double>(excess.count());
        };
        for (std::size_t unit = 0; unit < graph_.rank.size(); ++unit) {
            const auto rank = StepGraph::at(graph_.rank[unit]);
            const double of_op = std::max(0.0, share_[unit]);
            const double of_start = of_op + share_of_start_[unit];
            if (const Chunk chunk = chunkOf(unit); chunk.value >= 0 && chunk.index() < chunks) {
                Candidate& stage = stages[rank * chunks + chunk.index()];
                stage.culprit.rank = Rank{rank};
                stage.culprit.chunk = chunk;
                count(stage, CulpritKind::SlowStage, unit, of_op);
            }
            starts[rank].culprit.rank = Rank{rank};
            count(starts[rank], CulpritKind::LateStart, unit, of_start);
            if (bindings_[unit].crosses) {
                const Rank from{graph_.rank[StepGraph::at(bindings_[unit].unit)]};
                Candidate& link = links[2 * from.index() + (rank == (from.index() + 1) % ranks ? 0U : 1U)];
                link.culprit.rank = from;
                link.culprit.peer = Rank{rank};
                count(link, CulpritKind::SlowLink, unit, of_start);
            }
            const double waits = of_op * static_cast<double>(excess_[indexOf(CulpritKind::SlowOp)][unit].count());
            if (waits > 0) slow_ops.emplace_back(waits, static_cast<UnitIndex>(unit));
        }
        // Of the many slow ops only those that can get into the ranking.
        const auto most = static_cast<std::ptrdiff_t>(std::min(slow_ops.size(), kMostCulprits));
        std::ranges::partial_sort(slow_ops, slow_ops.begin() + most, std::ranges::greater{});
        slow_ops.resize(static_cast<std::size_t>(most));
        for (const auto& [waits, unit] : slow_ops) {
            Candidate& op = all.emplace_back();
            op.culprit.rank = Rank{graph_.rank[StepGraph::at(unit)]};
            op.culprit.unit = unit;
            count(op, CulpritKind::SlowOp, StepGraph::at(unit), std::max(0.0, share_[StepGraph::at(unit)]));
        }
        for (auto* list : {&stages, &links, &starts})
            std::ranges::copy(*list, std::back_inserter(all));
        std::erase_if(all, [](const Candidate& candidate) { return candidate.waits < 1; }); // rounding leaves dust
        return all;
    }

    /// Adds the excess of a slow op or stage to its ops' durations, `times` over.
    void addExcess(const Culprit& culprit, int times, std::vector<TimeNs>& durations) const {
        const std::vector<TimeNs>& excess = excess_[indexOf(culprit.kind)];
        if (culprit.unit) {
            durations[StepGraph::at(*culprit.unit)] += times * excess[StepGraph::at(*culprit.unit)];
            return;
        }
        for (std::size_t unit = 0; unit < durations.size(); ++unit) {
            if (graph_.rank[unit] == culprit.rank.value && chunkOf(unit) == culprit.chunk)
                durations[unit] += times * excess[unit];
        }
    }

    /// All transfers, with those of a slow link no longer than is typical.
    [[nodiscard]] std::array<std::vector<TimeNs>, 2> atTypicalTime(const Culprit& link) const {
        std::array<std::vector<TimeNs>, 2> transfers = graph_.transfer;
        eachTransfer([&](std::size_t side, std::size_t unit) {
            const UnitIndex from = graph_.input[side][unit];
            if (graph_.rank[StepGraph::at(from)] != link.rank.value || graph_.rank[unit] != link.peer->value) return;
            transfers[side][unit] = std::min(transfers[side][unit], typical_transfer_[payload(side, unit)]);
        });
        return transfers;
    }

    /// The delays without those of a rank.
    [[nodiscard]] std::vector<TimeNs> onTime(const Culprit& culprit) const {
        std::vector<TimeNs> delays = delays_;
        for (std::size_t unit = 0; unit < delays.size(); ++unit) {
            if (graph_.rank[unit] == culprit.rank.value) delays[unit] = TimeNs{0};
        }
        return delays;
    }

    const StepTimeline& step_;
    const StepGraph& graph_;
    const std::vector<Binding>& bindings_;
    std::vector<TimeNs> delays_; ///< that stay in a replay; empty where there are none
    StepReplay& replay_;
    std::vector<TimeNs> typical_;
    std::vector<TimeNs> usual_;
    std::array<std::vector<TimeNs>, kKinds> excess_; ///< per kind and unit
    std::array<TimeNs, 2> typical_transfer_{};       ///< per payload
    std::vector<double> share_;                      ///< per unit: the sum of the parts in which its excess is blamed
    std::vector<double> share_of_start_;             ///< the same for its start alone, by the wait before it
};

} // namespace

std::string_view culpritKindName(CulpritKind kind) {
    switch (kind) {
    case CulpritKind::SlowStage: return "slow-stage";
    case CulpritKind::SlowOp: return "slow-op";
    case CulpritKind::SlowLink: return "slow-link";
    case CulpritKind::LateStart: return "late-start";
    }
    return "";
}

StepBlame blameStep(const StepTimeline& step, const ObservedStep& observed, StepReplay& replay,
                    const UsualTimes& usual) {
    return Blame(step, observed, replay, usual).run();
}

} // namespace bubblescope
