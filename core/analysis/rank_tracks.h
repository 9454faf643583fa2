#pragma once

#include "core/analysis/clocks/run_clocks.h"
#include "core/recognise/run.h"
#include "core/trace/trace.h"

#include <vector>

namespace bubblescope {

/// The raw rows of the trace that belong to a rank of the run: its host threads, its device's streams, its lanes.
struct RankTracks {
    int replica = 0;
    Rank rank;
    std::vector<TrackId> tracks; ///< in the file's order; empty if unknown
    ClockFit clock;              ///< the rows' times are on this clock, the run's on the reference
};

/// One entry per rank of each replica, by replica and rank; none if no process has the whole trace. A rank's ops
/// identify the process and file that recorded them: the process in which most slices begin when its ops do, otherwise
/// the one whose file names the rank. The rank gets all rows of that file or, if the ops of other ranks came from it as
/// well, those of that process. `clocks` must be of the same run. Checks 32 ops of each rank, and reads each row once
/// for all of them.
[[nodiscard]] std::vector<RankTracks> rankTracks(const Run& run, const RunClocks& clocks);

} // namespace bubblescope
