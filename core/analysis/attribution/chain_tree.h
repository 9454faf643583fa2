#pragma once

#include "core/base/large_list.h"
#include "core/base/parallel.h"
#include "core/graph/step_graph.h"

#include <vector>

namespace bubblescope {

/// The units of a step as a tree. The parent of a unit is the predecessor that it waited for last. Units that did not
/// wait for another unit are children of the start of the step (kNoUnit). The path up from a unit is therefore the
/// chain of ops and transfers that led to it.
///
/// Each unit has a non-negative weight. Uses jump pointers as in Myers, "An applicative random-access stack" (1983),
/// one per node, so that a path of n units takes log n jumps.
class ChainTree {
public:
    /// weight(unit) may be called by several threads.
    template <class Weight>
    ChainTree(const std::vector<Binding>& bindings, const Weight& weight) {
        resizeLarge(nodes_, bindings.size() + 1);
        nodes_.front() = Node{};
        parallelPieces(bindings.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t unit = begin; unit < end; ++unit) {
                nodes_[unit + 1].parent = bindings[unit].unit + 1;
                nodes_[unit + 1].weight = weight(unit);
            }
        });
        link();
    }

    /// The last unit on both paths, possibly one of the two arguments; kNoUnit if it is the start of the step.
    [[nodiscard]] UnitIndex meet(UnitIndex a, UnitIndex b) const;
    /// The sum of weights on the path from `from` up to `above`, excluding `above`.
    [[nodiscard]] TimeNs sum(UnitIndex from, UnitIndex above) const { return node(from).sum - node(above).sum; }
    /// The unit with the largest weight on that path; kNoUnit if all are 0.
    [[nodiscard]] UnitIndex largest(UnitIndex from, UnitIndex above) const;
    /// The first unit above `from` such that the path up to it, excluding that unit, weighs at least `weight`; kNoUnit
    /// if there is none.
    [[nodiscard]] UnitIndex enough(UnitIndex from, TimeNs weight) const;

private:
    /// Node 0 is the start of the step, and node u + 1 is unit u. Aligned so that no node spans two cache lines,
    /// because jumps lead to distant nodes.
    struct alignas(32) Node {
        std::int32_t parent;
        std::int32_t jump;
        std::int32_t depth;
        std::int32_t largest; ///< unit with the largest weight on the path up to `jump` (exclusive)
        TimeNs sum;           ///< sum of weights on the path up to the start
        TimeNs weight;
    };
    void link();
    static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] const Node& node(UnitIndex unit) const { return nodes_[at(unit + 1)]; }
    [[nodiscard]] std::int32_t heavier(std::int32_t a, std::int32_t b) const {
        return nodes_[at(b)].weight > nodes_[at(a)].weight ? b : a;
    }

    ListToFill<Node> nodes_;
};

} // namespace bubblescope
