#pragma once

#include "core/timeline/checks.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace bubblescope::runtime {

/// The checks planned by ranks that have measured the idle time of their steps.
struct PlannedCoverage {
    int first_rank = 0; ///< global rank in the run
    int last_rank = 0;
    std::size_t units = 0;   ///< number of pairs of a layer and a kind of op
    std::size_t covered = 0; ///< units whose checks fit into idle times
    int steps = 0;           ///< number of steps until these units are covered
    double per_step = 0;     ///< checks per step
};

/// Options of a run with checks in its bubbles.
struct AadiffOptions {
    double margin = 0.1;                ///< safety margin, as a fraction of a check's cost: overruns within this margin
                                        ///< do not delay the step
    std::optional<std::int64_t> memory; ///< maximum memory of a rank's checks in bytes; none = no limit
    /// Maximum time of checks as a fraction of the ops' time, if ops are not paced; the limit applies separately to
    /// copying data for repetitions, and to digests. If checks would exceed this limit, fewer steps are checked. 1 =
    /// every step.
    double cost = 1;
    bool digests = true;   ///< true to record a digest of every layer's result, so that runs can be compared
    bool elsewhere = true; ///< true if other ranks repeat layers too; requires ranks that are threads of one process
    int every = 1;         ///< check only steps whose number is a multiple of this
    bool stop = false;     ///< true to end the run at a mismatch
    /// Called on any rank's thread when the verdict on a mismatch is known.
    std::function<void(const CheckRecord&)> on_mismatch{};
    /// Called once, on a rank's thread, when all ranks of this process have made their first plan. Not called in runs
    /// that follow the plan for nominal times, which is known in advance.
    std::function<void(const PlannedCoverage&)> on_plan{};
    std::int64_t bytes_on_disk = std::int64_t{64} << 20U; ///< size limit for the stored tensors of mismatches, in bytes
};

} // namespace bubblescope::runtime
