#pragma once

#include "app/gui/models/range_table.h"
#include "app/gui/models/session.h"

#include <cstddef>
#include <stop_token>
#include <vector>

namespace bubblescope::gui {

/// A name below the names that enclose it, in all stacks together.
struct StackNode {
    StringId name = 0;
    int parent = -1; ///< an earlier node; −1 for the root
    int depth = 0;   ///< 0 for the root
    TimeNs total{0};
    TimeNs self{0}; ///< without the slices inside
    std::size_t count = 0;
    SliceId longest = kNoId;
    TimeNs longest_time{0};
};

/// The stacks of some tracks in a time range, merged by name: the content of a flame graph. Node 0 is the root, which
/// includes all others; parents come before their children.
struct StackTree {
    std::vector<StackNode> nodes;
    bool cut = false; ///< true if there were more paths than kMost

    static constexpr std::size_t kMost = 100'000;
};

/// `tracks` are ascending; none: all tracks of hosts, or all tracks if there are no hosts. Only time within the range
/// counts. Linear in the number of slices that overlap the range. If asked to stop, returns early with an incomplete
/// tree. Any thread.
[[nodiscard]] StackTree stackTree(const Session& session, const TimeRange& range, const std::vector<TrackId>& tracks,
                                  std::stop_token stop = {});

/// The names around those of one name and directly inside them, with the times of the calls between the two; or all
/// names with their own times. Sorted by total time, descending. A name nested in itself counts once.
struct CallTables {
    std::vector<RangeRow> callers;
    std::vector<RangeRow> callees;
};
[[nodiscard]] CallTables callsOf(const Session& session, const StackTree& tree, StringId name);
[[nodiscard]] std::vector<RangeRow> namesOf(const Session& session, const StackTree& tree);

/// All slices with a name, on all lines, ascending. Linear in the trace. Any thread.
[[nodiscard]] std::vector<SliceId> slicesOf(const Session& session, StringId name, std::stop_token stop = {});

} // namespace bubblescope::gui
