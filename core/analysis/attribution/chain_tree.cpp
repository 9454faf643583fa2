#include "core/analysis/attribution/chain_tree.h"

namespace bubblescope {

/// Computes everything that follows from parents and weights.
void ChainTree::link() {
    for (std::size_t node = 1; node < nodes_.size(); ++node) {
        Node& self = nodes_[node];
        const Node& parent = nodes_[at(self.parent)];
        self.depth = parent.depth + 1;
        self.sum = parent.sum + self.weight;
        self.largest = static_cast<std::int32_t>(node);
        // Two jumps of equal length above are combined into one of twice that length plus one.
        const Node& jump = nodes_[at(parent.jump)];
        const bool twice = parent.depth - jump.depth == jump.depth - nodes_[at(jump.jump)].depth;
        self.jump = twice ? jump.jump : self.parent;
        if (twice) self.largest = heavier(heavier(self.largest, parent.largest), jump.largest);
    }
}

UnitIndex ChainTree::meet(UnitIndex a, UnitIndex b) const {
    std::int32_t left = a + 1;
    std::int32_t right = b + 1;
    const auto climb = [&](std::int32_t from, std::int32_t depth) {
        while (nodes_[at(from)].depth > depth) {
            const Node& self = nodes_[at(from)];
            from = nodes_[at(self.jump)].depth >= depth ? self.jump : self.parent;
        }
        return from;
    };
    left = climb(left, nodes_[at(right)].depth);
    right = climb(right, nodes_[at(left)].depth);
    while (left != right) {
        const Node& one = nodes_[at(left)];
        const Node& other = nodes_[at(right)];
        const bool apart = one.jump != other.jump;
        left = apart ? one.jump : one.parent;
        right = apart ? other.jump : other.parent;
    }
    return left - 1;
}

UnitIndex ChainTree::largest(UnitIndex from, UnitIndex above) const {
    const std::int32_t depth = node(above).depth;
    std::int32_t best = 0;
    for (std::int32_t i = from + 1; nodes_[at(i)].depth > depth;) {
        const Node& self = nodes_[at(i)];
        const bool far = nodes_[at(self.jump)].depth >= depth;
        best = heavier(best, far ? self.largest : i);
        i = far ? self.jump : self.parent;
    }
    return best - 1;
}

UnitIndex ChainTree::enough(UnitIndex from, TimeNs weight) const {
    const TimeNs wanted = node(from).sum - weight;
    std::int32_t i = from + 1;
    while (i != 0 && nodes_[at(i)].sum > wanted) {
        const Node& self = nodes_[at(i)];
        i = nodes_[at(self.jump)].sum > wanted ? self.jump : self.parent;
    }
    return i - 1;
}

} // namespace bubblescope
