#pragma once

#include "core/trace/trace.h"

#include <string>
#include <utility>
#include <vector>

namespace bubblescope {

/// A thread, stream or lane as recorded in the file. Includes the rows that Trace created because slices overlapped.
struct TrackSummary {
    std::string process; ///< name of the process, or its number if it has no name
    std::string thread;
    LaneKind lane = LaneKind::Host; ///< the kind of most slices on the track
    std::int64_t slices = 0;
    TimeNs busy{0};  ///< time during which at least one slice runs; annotations are ignored on tracks with device work
    TimeNs first{0}; ///< start of the first slice, relative to the trace's origin
    TimeNs last{0};  ///< end of the last slice
};

/// The contribution of one file to a trace.
struct FileSummary {
    TraceFile file;
    std::int64_t slices = 0;
    std::int64_t open_slices = 0;                                  ///< number of slices without an end
    std::vector<std::pair<std::string, std::int64_t>> by_category; ///< number of slices per category, largest number
                                                                   ///< first, then by name
    std::vector<TrackSummary> tracks;                              ///< tracks that have slices, in file order
    std::int64_t flows = 0;                                        ///< number of distinct flow ids
    std::int64_t flow_points = 0;
    std::int64_t instants = 0;
    std::int64_t counters = 0; ///< number of counter series
};

/// One entry per file in trace.files(), including unusable files. O(n) in the number of slices.
[[nodiscard]] std::vector<FileSummary> summarize(const Trace& trace);

} // namespace bubblescope
