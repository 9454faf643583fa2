#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/recognise/run.h"
#include "core/trace/trace.h"

#include <vector>

namespace bubblescope {

/// The raw rows in the trace that belong to a rank of the run: host threads, device streams, lanes.
struct RankTracks {
    int replica = 0;
    Rank rank;
    std::vector<TrackId> tracks; ///< in the order of the file; empty if unknown
    ClockFit clock;              ///< clock of the rows; the times of the run are on the reference clock
};

/// One entry per rank of each replica, sorted by replica and rank. Empty if the complete trace is not loaded in any
/// process. The process of a rank is the one with the most slices that start when the rank's ops start, or else the one
/// whose file has that rank number. The rank gets all rows of that file or, if the file contains ops of other ranks
/// too, all rows of that process. `clocks` must belong to the run. Checks 32 ops of each rank and reads each row only
/// once.
[[nodiscard]] std::vector<RankTracks> rankTracks(const Run& run, const RunClocks& clocks);

} // namespace bubblescope
