#pragma once

#include "core/base/time.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// Position of a node in a DependencyGraph.
using NodeId = std::int32_t;
inline constexpr NodeId kNoNode = -1;

/// What waits for what: nodes that take time, each behind all that it waits for. 4 bytes a node and 4 a dependency.
class DependencyGraph {
public:
    DependencyGraph() = default;
    /// From lists: `entries` from begin[id] to begin[id + 1] are what node `id` waits for, all below `id`.
    DependencyGraph(std::vector<NodeId> begin, std::vector<NodeId> entries);

    [[nodiscard]] NodeId size() const { return static_cast<NodeId>(begin_.size()) - 1; }
    [[nodiscard]] std::span<const NodeId> dependencies(NodeId id) const {
        const auto at = static_cast<std::size_t>(id);
        const auto begin = static_cast<std::size_t>(begin_[at]);
        return std::span(entries_).subspan(begin, static_cast<std::size_t>(begin_[at + 1]) - begin);
    }

    /// When each node ends if it takes this long: it starts when the last of what it waits for ends, at 0 if it waits
    /// for nothing. `ends` has one entry a node. Linear.
    void replay(std::span<const TimeNs> durations, std::span<TimeNs> ends) const;

private:
    std::vector<NodeId> begin_{0}; ///< per node, and the end of the last
    std::vector<NodeId> entries_;
};

} // namespace bubblescope
