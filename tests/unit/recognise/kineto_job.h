#pragma once

#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace bubblescope::test {

/// Describes a synthetic training job on GPUs and what its profiler recorded. The trace does not mention a pipeline.
struct KinetoJob {
    int steps = 3;
    double jitter = 0.05; ///< relative variation of op times
    unsigned seed = 1;
    bool flows = true;           ///< arrows from operators of the forward to those of the backward
    bool operators = true;       ///< operators of the host; otherwise only launches
    bool peers = true;           ///< parameters of sends and receives, with the peer's rank
    bool combined = true;        ///< true if a send and the next receive are one kernel, as in Megatron's 1F1B
    bool tensor_parallel = true; ///< adds all-reduces within the ops
    int first_rank = 0;          ///< global rank of the first stage; the ranks of a pipeline are consecutive
    TimeNs begin{10'000'000};
    std::vector<TimeNs> skew = {}; ///< by rank: offset of its clock
};

/// An event of a trace file, with the op that it belongs to.
struct KinetoEvent {
    std::string json;
    enum class What { Compute, Transfer, Other } what = What::Other;
    int step = 0;
    std::size_t op = 0; ///< index in the list of the rank; for a transfer, index of the op after it
};

struct KinetoTrace {
    std::vector<std::vector<KinetoEvent>> ranks;
    std::vector<StepTimeline> truth; ///< actual times of ops on the devices, on a common clock
    /// The file of one rank, with the events that `keep` accepts.
    [[nodiscard]] std::string file(std::size_t rank, const KinetoJob& job,
                                   const std::function<bool(const KinetoEvent&)>& keep = {}) const;
};

/// Runs steps of a schedule, with transfers of 0.2 ms between ranks, and records every rank as Kineto would: the host
/// runs ahead of its device, and correlation ids connect kernels with launches.
[[nodiscard]] KinetoTrace traceJob(const Schedule& schedule, const KinetoJob& job);

} // namespace bubblescope::test
