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

/// The bubbles of a step, each explained by the excess on the chains of units that led to it. Also contains, for each
/// unit, the fraction of the unit's excess that causes bubbles. explained_waits.cpp describes the method.
///
/// Stores a reference to a StepExcess, which must outlive the object. Linear in units, apart from a logarithmic search
/// per bubble. Call from one thread. explain() uses all cores, sumShares() one, so that other work can run in parallel.
class ExplainedWaits {
public:
    explicit ExplainedWaits(const StepExcess& excess) : excess_(excess), graph_(excess.graph()) {}

    /// Call this function first, and only once. Computes everything except the ranking.
    [[nodiscard]] StepAttribution explain();
    /// Call this function once, after explain(). Computes the fractions.
    void sumShares();

    /// Sum, over all waits, of the fraction of a unit's excess duration that caused the wait.
    [[nodiscard]] double ofOp(std::size_t unit) const { return std::max(0.0, fraction_[unit]); }
    /// Like ofOp(), but for the unit's late start and for the transfer of its latest input.
    [[nodiscard]] double ofStart(std::size_t unit) const { return ofOp(unit) + start_fraction_[unit]; }
    /// Moves out the buffer with the ends at typical times, for reuse. Call it after explain(), which needs the buffer.
    [[nodiscard]] TaskTimes takeTypicalEnds() { return std::move(typical_ends_); }

private:
    /// The excess on the path from a unit up to another, and the share of this excess that explains a wait.
    struct Share {
        UnitIndex from;
        UnitIndex above;
        double part;
    };
    static constexpr Share kNoShare{kNoUnit, kNoUnit, 0};
    /// A bubble with its attribution: first the excess on its chain, then the excess that delayed both ranks.
    struct Wait {
        AttributedBubble bubble;
        TimeNs attributed{0};
        Share chain = kNoShare;
        Share common = kNoShare;

        [[nodiscard]] TimeNs unexplained() const { return bubble.end - bubble.start - bubble.usual - attributed; }
    };
    /// Index ranges of bubbles, one per piece of the units, so that each thread explains the bubbles before its units.
    /// Bubbles are listed by rank, while neighbouring units are adjacent in all other lists.
    struct BubblePlaces {
        std::vector<std::size_t> next;   ///< next bubble, per piece and rank
        std::vector<std::size_t> begin;  ///< first bubble per rank, plus the end of the last rank
        std::vector<std::size_t> behind; ///< bubble after the last unit, per rank
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
    /// Call this function only after replayTypical().
    [[nodiscard]] TimeNs typicalEnd(UnitIndex unit) const { return typical_ends_[unit]; }

    const StepExcess& excess_;
    const StepGraph& graph_;
    TaskTimes typical_ends_; ///< ends at typical times
    TimeNs typical_length_{0};
    ListToFill<Share> common_;          ///< shares for the wait before each unit; kept from explain() to sumShares()
    std::vector<Wait> behind_;          ///< each rank's wait after its last unit
    ListToFill<double> fraction_;       ///< per unit: sum of the fractions of its excess that caused waits
    ListToFill<double> start_fraction_; ///< like `fraction_`, but for the late start and the wait before the unit
};

} // namespace bubblescope
