#pragma once

#include "core/schedule/schedule.h"
#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace bubblescope::test {

/// How a made-up training job on GPUs ran and what its profiler recorded. Nothing in it names a pipeline.
struct KinetoJob {
    int steps = 3;
    double jitter = 0.05; ///< op times vary by this share
    unsigned seed = 1;
    bool flows = true;           ///< from operators of the forward to those of the backward
    bool operators = true;       ///< of the host; else launches alone
    bool peers = true;           ///< parameters of sends and receives, with the peer's rank
    bool combined = true;        ///< a send and the receive behind it are one kernel, as in Megatron's 1F1B
    bool tensor_parallel = true; ///< all-reduces within the ops
    int first_rank = 0;          ///< global rank of the first stage; ranks of one pipeline follow each other
    TimeNs begin{10'000'000};
    std::vector<TimeNs> skew = {}; ///< by rank: how far its clock is ahead
};

/// An event of a trace file, with the op that it belongs to.
struct KinetoEvent {
    std::string json;
    enum class What { Compute, Transfer, Other } what = What::Other;
    int step = 0;
    std::size_t op = 0; ///< in the rank's list; of a transfer, the op behind it
};

struct KinetoTrace {
    std::vector<std::vector<KinetoEvent>> ranks;
    std::vector<StepTimeline> truth; ///< when ops really ran on the devices, on a common clock
    /// One rank's file, of the events that `keep` wants.
    [[nodiscard]] std::string file(std::size_t rank, const KinetoJob& job,
                                   const std::function<bool(const KinetoEvent&)>& keep = {}) const;
};

/// Runs a schedule's steps one after the other, transfers of 0.2 ms between ranks, and records every rank as Kineto
/// would: the host runs ahead of its device; kernels are tied to launches by correlation ids.
[[nodiscard]] KinetoTrace traceJob(const Schedule& schedule, const KinetoJob& job);

} // namespace bubblescope::test
