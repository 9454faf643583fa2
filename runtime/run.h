#pragma once

#include "core/aadiff/plan.h"
#include "core/base/job.h"
#include "core/base/process_team.h"
#include "core/base/result.h"
#include "profiler/kernels/kernel_recorder.h"
#include "runtime/adapt/order_adapter.h"
#include "runtime/backend/backend.h"
#include "runtime/checks/aadiff_options.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/round_run.h"
#include "runtime/engine/weight_run.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// The model to train, the training options, and the results to store. The run rejects an invalid schedule.
struct RunConfig : EngineConfig {
    ModelConfig model;
    /// One of these is set if stages do not belong to ranks; see runTravellingWeights() and runMovingStages() for
    /// `schedule`. Such a run uses CPU ranks in this process. Its trace contains ops, but no messages.
    std::optional<WeightOrder> weights;
    std::optional<RoundOrder> round;
    [[nodiscard]] bool movesStages() const { return weights || round; }
    /// Maximum time that a rank may delay the others: by exceeding an op's nominal time, by not sending a heartbeat if
    /// ranks are processes, or by never sending a message. After this time, the run ends with an error that names the
    /// rank. The default exceeds the time of any op of a model that fits on a CPU.
    TimeNs timeout{60'000'000'000};
    std::shared_ptr<Backend> backend; ///< executes the ranks' ops; null = the host
    /// True if ranks that share a device should use separate processors, provided that the device can be divided.
    bool divide_device = false;
    /// True if the order may change between steps; see OrderAdapter. Ranks must be threads of one process.
    bool adapt = false;
    bool adapt_waits = false;            ///< see OrderAdapter
    std::optional<AadiffOptions> aadiff; ///< checks in bubbles; none = no checks
    /// Records device activity in addition to the ops; may be null. The recorder must be started before the backend is
    /// opened.
    std::shared_ptr<profiler::KernelRecorder> kernels;
    std::filesystem::path out_dir; ///< folder for one trace file per rank; empty = record nothing
    /// Maximum size of a rank's trace. The trace is written in parts of a quarter of that size, and the oldest part is
    /// removed. 0 = one file of unlimited size.
    std::int64_t trace_bytes = 0;
};

struct DeviceDivision {
    int processors = 0; ///< processors per rank; 0 = not divided
    int of = 0;         ///< processors of the device
    std::string why_not;
};

struct RunSummary {
    std::vector<double> losses; ///< mean over micro-batches for each update of the weights: one per step, or more
    int updates_per_step = 1;
    std::uint64_t weights_digest = 0; ///< FNV-1a over the bytes of all weights of one copy of the model, by stage
    std::int64_t ops = 0;             ///< number of executed ops, including one optimizer op per rank and step
    std::int64_t late_ops = 0;        ///< number of ops whose end moved because they exceeded the tolerance
    TimeNs max_lateness{0};
    std::vector<MemoryUse> memory;          ///< memory use of each rank when its total peaked
    std::vector<OrderChange> order_changes; ///< changes to the order, if the run may change it
    std::int64_t dropped_records = 0;       ///< number of records lost because a ring was full
    std::vector<std::filesystem::path> files;
    std::optional<profiler::KernelCounts> kernels; ///< set if the run recorded device activity
    std::optional<DeviceDivision> division;        ///< set if dividing the run's device among its ranks was requested
    /// For a run with checks: the planned coverage, and whether ops were delayed for checks.
    struct Checks {
        std::optional<int> steps_to_full; ///< number of steps until all layers are covered; none if some layers are
                                          ///< never covered
        bool retimed = false;
    };
    std::optional<Checks> checks;
    /// For a run in which stages do not belong to ranks.
    struct MovingStep {
        StepTimeline last;         ///< see MovingRunResult
        std::vector<TimeNs> walls; ///< of each step
    };
    std::optional<MovingStep> moving;
};

/// Trains for `steps` steps, or until a stop is requested, with one thread per rank, and records the run. Accepts any
/// valid schedule, from the registry or from a file. Errors: Input for an invalid schedule; Run if a rank fails or a
/// file cannot be written (earlier records remain readable); Cancelled.
[[nodiscard]] Result<RunSummary> runPipeline(const RunConfig& config, JobControl& control);

/// The result of a run whose ranks are processes.
struct ProcessRun {
    /// On the root, this is the same summary as from runPipeline(); losses, digest and memory are bit-identical. On
    /// other processes only the fields that concern their rank are filled in. All processes return the same error: an
    /// error of runPipeline(), or the watchdog's error for a rank whose process has died.
    Result<RunSummary> summary;
    /// False if a process has died; the job can then only be left without MPI_Finalize.
    bool all_alive = true;
};

/// Like runPipeline(), but each process of a job is one rank. Collective: all processes must call this, with identical
/// configs. `out_dir` must be one folder shared by all processes, in which each writes its file. Error: Usage, if the
/// number of processes in the job differs from the number of ranks in the run, or if the program was built without MPI.
[[nodiscard]] ProcessRun runOverProcesses(const RunConfig& config, JobControl& control, ProcessTeam& team);

} // namespace bubblescope::runtime
