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
    std::vector<TrackId> tracks; ///< in the file's order; none where it is not known whose they are
    ClockFit clock;              ///< the rows' times are by this clock; the run's are the reference's
};

/// One for each rank of each replica, by replica and rank; none where no process holds the whole trace. A rank's ops
/// tell which process of which file recorded them: the one in which most slices begin when its ops do, or else the one
/// whose file states the rank. It has all rows of that file, or where others' ops came from that file too, those of
/// that process. `clocks` are of the same run. Looks at 32 ops of each rank, and goes through each row once for all of
/// them.
[[nodiscard]] std::vector<RankTracks> rankTracks(const Run& run, const RunClocks& clocks);

} // namespace bubblescope
