#pragma once

#include "core/analysis/attribution/attribution.h"
#include "core/analysis/attribution/chain_tree.h"
#include "core/analysis/attribution/step_excess.h"
#include "core/base/large_list.h"
#include "core/graph/longest_path.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace bubblescope {

/// The bubbles of a step, each explained by excess on the chains of units that led to it, and the fractions in which
/// the excess at each unit is attributed for them all. explained_waits.cpp has the method.
///
/// Refers to a StepExcess, which must outlive it. Linear in units, but for a logarithm for each bubble. One thread
/// calls; explain() uses all cores, sumShares() none but its own, so that other work can run beside it.
class ExplainedWaits {
public:
    explicit ExplainedWaits(const StepExcess& excess) : excess_(excess), graph_(excess.graph()) {}

    /// The first to be called, once: all but the ranking.
    [[nodiscard]] StepAttribution explain();
    /// The second, once. Makes the fractions.
    void sumShares();

    /// The fraction in which the excess of a unit's own time is attributed, over all waits.
    [[nodiscard]] double ofOp(std::size_t unit) const { return std::max(0.0, fraction_[unit]); }
    /// The same for its start, and for the transfer that brought what it waited for last.
    [[nodiscard]] double ofStart(std::size_t unit) const { return ofOp(unit) + start_fraction_[unit]; }
    /// The ends at typical times, for whoever needs their memory: they are not asked for after explain().
    [[nodiscard]] TaskTimes takeTypicalEnds() { return std::move(typical_ends_); }

private:
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

        [[nodiscard]] TimeNs unexplained() const { return bubble.end - bubble.start - bubble.usual - attributed; }
    };
    /// The places of bubbles, of which each thread explains those before a piece of the units. Neighbours in the units'
    /// order are neighbours in all lists, but bubbles are listed rank by rank.
    struct BubblePlaces {
        std::vector<std::size_t> next;   ///< per piece and rank: of its next bubble
        std::vector<std::size_t> begin;  ///< per rank: of its first, and the end of the last
        std::vector<std::size_t> behind; ///< per rank: of the one behind its last unit
    };

    void replayTypical();
    [[nodiscard]] ChainTree chainsOfExcess() const;
    [[nodiscard]] BubblePlaces bubblePlaces() const;
    [[nodiscard]] Wait explained(Rank rank, UnitIndex waiting, UnitIndex waited_for, UnitIndex before, TimeNs end,
                                 TimeNs usual, const ChainTree& tree) const;
    [[nodiscard]] Excess largestExcess(UnitIndex on_chain, UnitIndex waiting) const;
    void add(const Share& share) {
        if (share.part == 0) return;
        if (share.from != kNoUnit) fraction_[StepGraph::at(share.from)] += share.part;
        if (share.above != kNoUnit) fraction_[StepGraph::at(share.above)] -= share.part;
    }
    [[nodiscard]] TimeNs observedEnd(UnitIndex unit) const {
        return unit == kNoUnit ? TimeNs{0} : graph_.end[StepGraph::at(unit)];
    }
    /// After replayTypical().
    [[nodiscard]] TimeNs typicalEnd(UnitIndex unit) const { return typical_ends_[unit]; }

    const StepExcess& excess_;
    const StepGraph& graph_;
    TaskTimes typical_ends_; ///< at typical times
    TimeNs typical_length_{0};
    ListToFill<Share> common_;          ///< of the wait before each unit, from explain() to sumShares()
    std::vector<Wait> behind_;          ///< of each rank that waits after its last unit
    ListToFill<double> fraction_;       ///< per unit: the sum of the fractions in which its excess is attributed
    ListToFill<double> start_fraction_; ///< the same for its start alone, by the wait before it
};

} // namespace bubblescope
