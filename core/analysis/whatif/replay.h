#pragma once

#include "core/analysis/whatif/replay_graph.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// When everything in a graph ends if it takes given times (DependencyGraph::replay). Refers to the graph, which must
/// outlive it.
///
/// A replay can be changed and taken back: set() some times, update(), read, undo(). That costs what the change
/// reaches, so that trying each of 1,000 ranks in turn does not cost 1,000 replays.
class Replay {
public:
    Replay(const ReplayGraph& graph, std::vector<TimeNs> durations);

    [[nodiscard]] TimeNs duration(NodeId id) const { return durations_[at(id)]; }
    [[nodiscard]] TimeNs end(NodeId id) const { return ends_[at(id)]; }
    [[nodiscard]] TimeNs start(NodeId id) const { return end(id) - duration(id); }

    /// Length of each step, from 0 to the end of its last node.
    [[nodiscard]] std::vector<TimeNs> stepTimes() const;
    /// Their mean; 0 without steps.
    [[nodiscard]] TimeNs meanStep() const;

    /// A time that counts from the next update() on.
    void set(NodeId id, TimeNs duration);
    /// Makes the ends fit the times again.
    void update();
    /// Back to the times and ends of the construction.
    void undo();

private:
    static std::size_t at(NodeId id) { return static_cast<std::size_t>(id); }
    [[nodiscard]] TimeNs computeEnd(NodeId id) const;
    void markDirty(NodeId id);

    const ReplayGraph& graph_;
    std::vector<TimeNs> durations_;
    std::vector<TimeNs> ends_;
    std::vector<std::uint64_t> dirty_; ///< a bit a node
    std::size_t first_dirty_;          ///< no word of `dirty_` before it is set
    struct Old {
        NodeId id;
        TimeNs value;
    };
    std::vector<Old> old_durations_;
    std::vector<Old> old_ends_;
};

} // namespace bubblescope
