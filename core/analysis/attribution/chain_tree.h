#pragma once

#include "core/base/large_list.h"
#include "core/base/parallel.h"
#include "core/graph/step_graph.h"

#include <vector>

namespace bubblescope {

/// The units of a step as a tree: above each unit the one that it waited for last, above those that waited for nothing
/// the step's begin (kNoUnit). So the way up from a unit is the chain of ops and transfers that led to it.
///
/// Each unit carries a weight, which must not be negative. Jump pointers as in Myers, "An applicative random-access
/// stack" (1983): one for each node, so that a way up of n units takes log n jumps.
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

    /// The last unit that lies on both ways up, which may be one of the two; kNoUnit where that is the step's begin.
    [[nodiscard]] UnitIndex meet(UnitIndex a, UnitIndex b) const;
    /// The weights on the way from `from` up to `above`, that one left out.
    [[nodiscard]] TimeNs sum(UnitIndex from, UnitIndex above) const { return node(from).sum - node(above).sum; }
    /// The unit with the largest weight on that way, kNoUnit where all are 0.
    [[nodiscard]] UnitIndex largest(UnitIndex from, UnitIndex above) const;
    /// The first unit above `from` up to which the way weighs this much, that unit left out; kNoUnit where none does.
    [[nodiscard]] UnitIndex enough(UnitIndex from, TimeNs weight) const;

private:
    /// Node 0 is the step's begin, node u + 1 is unit u. Aligned, so that none lies on two lines of a cache: jumps go
    /// from one to another far away.
    struct alignas(32) Node {
        std::int32_t parent;
        std::int32_t jump;
        std::int32_t depth;
        std::int32_t largest; ///< of the way up to `jump`, that one left out
        TimeNs sum;           ///< of the way up to the begin
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
