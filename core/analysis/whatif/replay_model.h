#pragma once

#include "core/analysis/whatif/replay_graph.h"
#include "core/recognise/run.h"

#include <span>
#include <string>
#include <vector>

namespace bubblescope {

struct ReplayStep {
    int index = 0;      ///< number of the step in its run
    TimeNs observed{0}; ///< from its first op's start to its last op's end, on any rank of any replica
};

/// A run's steps as a graph that can be replayed with other times than those measured.
struct ReplayModel {
    std::string where; ///< names the trace, for messages
    TimedGraph timed;  ///< durations as measured; transfers without the time in which one side waits for the other
    std::vector<ReplayStep> steps;
    std::vector<int> replicas; ///< their numbers in the trace
    int pp = 1;
    int vpp = 1;
    int microbatches = 1;
    Placement placement = Placement::Loop;
    /// True where the graph has both sides of every transfer and the collectives around the pipeline, as the
    /// straggler study has; false where it has ops, transfers and late starts.
    bool has_streams = false;

    [[nodiscard]] const ReplayGraph& graph() const { return timed.graph; }
    /// Mean over the steps.
    [[nodiscard]] TimeNs observed() const;
};

/// Of a run's complete steps, or of those that `steps` names where it names any. Timelines of ByteDance's study get its
/// graph (straggler_graph.h), all others that of their ops, transfers and late starts (timeline_graph.h). Errors: Usage
/// for a step that does not exist, Input when the trace contradicts itself.
[[nodiscard]] Result<ReplayModel> replayModel(const Run& run, std::span<const int> steps = {});

} // namespace bubblescope
