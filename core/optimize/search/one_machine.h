#pragma once

#include <cstdint>
#include <vector>

namespace bubblescope {

/// A job for a machine that runs one job at a time. Times are in nanoseconds.
struct MachineJob {
    std::int64_t head = 0;  ///< earliest start of the job
    std::int64_t work = 0;  ///< its duration
    std::int64_t after = 0; ///< minimum time from the job's end to the end of the schedule; may be negative
};

struct MachineBound {
    std::int64_t time = 0;
    /// The jobs that determine the bound: their earliest start, total work, and minimum time after one of them. `time`
    /// is the sum of the three.
    std::int64_t head = 0;
    std::int64_t work = 0;
    std::int64_t after = 0;
};

/// The maximum, over all sets of jobs, of their smallest head, plus their total work, plus their smallest tail. This is
/// the length of the shortest preemptive schedule (Jackson's rule runs the available job with the longest tail; Carlier
/// 1982). O(jobs · log(jobs)).
[[nodiscard]] MachineBound machineBound(std::vector<MachineJob> jobs);

} // namespace bubblescope
