#pragma once

#include "core/aadiff/study.h"
#include "core/base/job.h"
#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/schedule/schedule.h"
#include "runtime/backend/backend.h"
#include "runtime/checks/aadiff_options.h"
#include "runtime/engine/bubble_hook.h"
#include "runtime/faults/fault.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace bubblescope::runtime {

struct RunConfig {
    Schedule schedule; ///< validated by the caller or rejected by the run
    ModelConfig model;
    int steps = 3;
    /// With pacing on, each rank has an emulated device clock: an op begins at the latest of its inputs'
    /// arrival and the device's free time on that clock and ends after its nominal time in `times`; if its
    /// maths was done more than `pace_tolerance` after that, it ends when it really ended. How late the
    /// machine was in the end is recorded with every op. Zero takes every delay of the machine for one of
    /// the op; the default is above what a machine with a task or two more than cores adds to a wake-up. An
    /// op without a nominal time takes its real time.
    bool paced = true;
    CostModel times;
    TimeNs pace_tolerance{10'000'000};
    int replicas = 1;          ///< of the pipeline (dp), each with its own micro-batches; see RunMesh for their ranks
    int tensor_ranks = 1;      ///< that share each stage (tp), see TensorShard; a divisor of the model's heads
    std::vector<Fault> faults; ///< injected into the run, and named in its trace
    /// How long a rank may keep the others waiting: in an op beyond the op's nominal time, without a sign of life where
    /// ranks are processes, or for a message that nobody is going to send. Then the run ends with an error that names
    /// it. The default is above what any op of a model that fits a CPU takes.
    TimeNs timeout{60'000'000'000};
    std::shared_ptr<Backend> backend;    ///< where ranks compute; null = on the host
    BubbleHook bubble_hook;              ///< see there; empty = none
    std::optional<AadiffOptions> aadiff; ///< the run checks itself in its bubbles; none = it does not
    std::filesystem::path out_dir;       ///< one trace file per rank goes here; empty = record nothing
    /// Asks the run to end with the step that is running, as if no more had been wanted. Where ranks are processes it
    /// is ignored.
    std::stop_token end_early;
    /// What a rank's trace may take: it is written in parts of a quarter each, and the oldest part goes. 0 = one file,
    /// without limit.
    std::int64_t trace_bytes = 0;
};

struct RunSummary {
    std::vector<double> losses;       ///< mean over micro-batches, per step that was run
    std::uint64_t weights_digest = 0; ///< FNV-1a over the bytes of all weights, by stage; one copy of the model
    std::int64_t ops = 0;             ///< executed, one optimizer op per rank and step included; 0 for a reference
    std::int64_t late_ops = 0;        ///< ops whose end moved because they were done beyond the tolerance
    TimeNs max_lateness{0};
    std::vector<MemoryUse> memory;    ///< by rank, at the moment when its total was largest; empty for a reference
    std::int64_t dropped_records = 0; ///< records lost because a ring was full
    std::vector<std::filesystem::path> files;
    /// Of a run that checks itself, what was planned, and whether ops were held back for it.
    struct Checks {
        std::optional<int> steps_to_full; ///< none where some layers are never covered
        bool retimed = false;
    };
    std::optional<Checks> checks;
};

/// Trains for `steps` steps, or until asked to end, one thread per rank, and records the run; any valid schedule, from
/// the registry or from a file. Errors: Input for an invalid
/// schedule, Run when a rank fails or a file cannot be written (what was recorded until then is
/// readable), Cancelled.
[[nodiscard]] Result<RunSummary> runPipeline(const RunConfig& config, JobControl& control);

/// The same model and data without a pipeline, on one thread (of ranks that share stages, one for each of those), with
/// gradients summed in the order that DataPlan
/// (runtime/model/data_plan.h) states: the reference that a pipelined run must equal bit for bit. It depends on the
/// number of stages and micro-batches, on sequence slices and on which micro-batches take which of two
/// pipelines, and on how many ranks share a stage, not on the order of ops.
[[nodiscard]] Result<RunSummary> runReference(const RunConfig& config);

} // namespace bubblescope::runtime
