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

/// The bubbles of a step, each explained by excess on the chains of units that led to it, and the fractions of each
/// unit's excess that they are attributed to. explained_waits.cpp describes the method.
///
/// Refers to a StepExcess, which must outlive it. Linear in units, apart from a logarithm per bubble. Call from one
/// thread; explain() uses all cores, sumShares() only its own, so that other work can run in parallel.
class ExplainedWaits {
public:
    explicit ExplainedWaits(const StepExcess& excess) : excess_(excess), graph_(excess.graph()) {}

    /// Call it first, once. Computes everything except the ranking.
    [[nodiscard]] StepAttribution explain();
    /// Call it second, once. Computes the fractions.
    void sumShares();

    /// The fraction, summed over all waits, in which the excess of a unit's own time is attributed.
    [[nodiscard]] double ofOp(std::size_t unit) const { return std::max(0.0, fraction_[unit]); }
    /// Like ofOp(), for its start, and for the transfer of the input that it waited for last.
    [[nodiscard]] double ofStart(std::size_t unit) const { return ofOp(unit) + start_fraction_[unit]; }
    /// Returns the buffer of the ends at typical times for reuse; explain() needs it, later calls do not.
    [[nodiscard]] TaskTimes takeTypicalEnds() { return std::move(typical_ends_); }

private:
    /// The excess on the path from a unit up to another, and the share of it that a wait is attributed to.
    struct Share {
        UnitIndex from;
        UnitIndex above;
        double part;
    };
    static constexpr Share kNoShare{kNoUnit, kNoUnit, 0};
    /// A bubble and what it is attributed to: first the excess on its chain, then the excess that delayed both ranks.
    struct Wait {
        AttributedBubble bubble;
        TimeNs attributed{0};
        Share chain = kNoShare;
        Share common = kNoShare;

        [[nodiscard]] TimeNs unexplained() const { return bubble.end - bubble.start - bubble.usual - attributed; }
    };
    /// Index ranges of bubbles: each thread explains those before one piece of the units. Neighbours in the units'
    /// order are neighbours in all lists, but bubbles are listed rank by rank.
    struct BubblePlaces {
        std::vector<std::size_t> next;   ///< per piece and rank: its next bubble
        std::vector<std::size_t> begin;  ///< per rank: its first bubble, plus the end of the last
        std::vector<std::size_t> behind; ///< per rank: the bubble after its last unit
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
    /// Call it only after replayTypical().
    [[nodiscard]] TimeNs typicalEnd(UnitIndex unit) const { return typical_ends_[unit]; }

    const StepExcess& excess_;
    const StepGraph& graph_;
    TaskTimes typical_ends_; ///< at typical times
    TimeNs typical_length_{0};
    ListToFill<Share> common_;          ///< for the wait before each unit, between explain() and sumShares()
    std::vector<Wait> behind_;          ///< for each rank that waits after its last unit
    ListToFill<double> fraction_;       ///< per unit: the sum of the fractions in which its excess is attributed
    ListToFill<double> start_fraction_; ///< like `fraction_`, for its start alone, by the wait before it
};

} // namespace bubblescope
