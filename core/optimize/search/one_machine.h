#pragma once

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Work on a machine that does one job at a time. Nanoseconds.
struct MachineJob {
    std::int64_t head = 0;  ///< no job starts before its head
    std::int64_t work = 0;  ///< its duration
    std::int64_t after = 0; ///< minimum time between its end and the end of the schedule; may be negative
};

struct MachineBound {
    std::int64_t time = 0;
    /// The deciding set of jobs: the earliest start, their work, and the minimum time after one of them. `time` is the
    /// sum of the three.
    std::int64_t head = 0;
    std::int64_t work = 0;
    std::int64_t after = 0;
};

/// The maximum, over all sets of jobs, of least head plus work plus least tail: the length of the shortest schedule
/// that may interrupt jobs (Jackson's rule: of the available jobs, the one with the longest tail runs; Carlier 1982).
/// O(jobs · log(jobs)).
[[nodiscard]] MachineBound machineBound(std::vector<MachineJob> jobs);

} // namespace bubblescope
