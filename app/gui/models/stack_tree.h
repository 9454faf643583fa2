#pragma once

#include "app/gui/models/range_table.h"
#include "app/gui/models/session.h"

#include <cstddef>
#include <stop_token>
#include <vector>

namespace bubblescope::gui {

/// A frame of a flame graph: all slices with the same name and the same enclosing names.
struct StackNode {
    StringId name = 0;
    int parent = -1; ///< index of an earlier node; −1 for the root
    int depth = 0;   ///< 0 for the root
    TimeNs total{0};
    TimeNs self{0}; ///< time without nested slices
    std::size_t count = 0;
    SliceId longest = kNoId;
    TimeNs longest_time{0};
};

/// Stacks of some tracks in a time range, merged by name, as in a flame graph. Node 0 is the root; parents precede
/// their children.
struct StackTree {
    std::vector<StackNode> nodes;
    bool cut = false; ///< true if paths were dropped because there were more than kMost

    static constexpr std::size_t kMost = 100'000;
};

/// `tracks` must be ascending. By default, all host tracks are included, or all tracks if there are no host tracks.
/// Only time within the range counts. Linear in the number of slices that overlap the range. Returns an incomplete tree
/// if a stop is requested. Any thread.
[[nodiscard]] StackTree stackTree(const Session& session, const TimeRange& range, const std::vector<TrackId>& tracks,
                                  std::stop_token stop = {});

/// Callers and callees of a name, with the time of the calls. If no name is given, all names with their times. Sorted
/// by total time, descending. Recursive calls count only once.
struct CallTables {
    std::vector<RangeRow> callers;
    std::vector<RangeRow> callees;
};
[[nodiscard]] CallTables callsOf(const Session& session, const StackTree& tree, StringId name);
[[nodiscard]] std::vector<RangeRow> namesOf(const Session& session, const StackTree& tree);

/// All slices with this name on all lines, ascending. Linear in the size of the trace. Any thread.
[[nodiscard]] std::vector<SliceId> slicesOf(const Session& session, StringId name, std::stop_token stop = {});

} // namespace bubblescope::gui
