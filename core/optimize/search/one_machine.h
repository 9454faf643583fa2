#pragma once

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Work on a machine that does one job at a time. Nanoseconds.
struct MachineJob {
    std::int64_t head = 0;  ///< no job starts before its head
    std::int64_t work = 0;  ///< what it takes
    std::int64_t after = 0; ///< between its end and the end of all at least; may be negative
};

struct MachineBound {
    std::int64_t time = 0;
    /// Of the jobs that decide: the earliest start, their work, and the least time after one of them. `time` is the sum
    /// of the three.
    std::int64_t head = 0;
    std::int64_t work = 0;
    std::int64_t after = 0;
};

/// The largest, over all sets of jobs, of least head, work and least tail: the length of the shortest schedule that may
/// interrupt jobs (Jackson's rule: of the jobs that are there, the one with the longest tail runs; Carlier 1982).
/// O(jobs · log(jobs)).
[[nodiscard]] MachineBound machineBound(std::vector<MachineJob> jobs);

} // namespace bubblescope
