#pragma once

#include "core/trace/trace.h"

#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// A thread, stream or lane as in the file. Includes the rows that Trace split off because slices overlapped.
struct TrackSummary {
    std::string process; ///< name, or the number if it has none
    std::string thread;
    LaneKind lane = LaneKind::Host; ///< kind of most of its slices
    std::int64_t slices = 0;
    TimeNs busy{0};  ///< time during which at least one slice runs; annotations do not count on tracks with device work
    TimeNs first{0}; ///< start of the first slice, from the trace's origin
    TimeNs last{0};  ///< end of the last slice
};

/// The part of a trace that one file contributes.
struct FileSummary {
    TraceFile file;
    std::int64_t slices = 0;
    std::int64_t open_slices = 0;                                  ///< slices that never ended
    std::vector<std::pair<std::string, std::int64_t>> by_category; ///< number of slices per category, largest first,
                                                                   ///< then by name
    std::vector<TrackSummary> tracks;                              ///< tracks with slices, in the file's order
    std::int64_t flows = 0;                                        ///< distinct ids
    std::int64_t flow_points = 0;
    std::int64_t instants = 0;
    std::int64_t counters = 0; ///< number of series
};

/// One entry for each of trace.files(), unusable ones included. O(slices).
[[nodiscard]] std::vector<FileSummary> summarize(const Trace& trace);

} // namespace bubblescope
