#pragma once

#include "core/aadiff/plan.h"
#include "core/base/job.h"
#include "core/base/process_team.h"
#include "core/base/result.h"
#include "profiler/kernels/kernel_recorder.h"
#include "runtime/backend/backend.h"
#include "runtime/checks/aadiff_options.h"
#include "runtime/engine/engine.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// The model to train, the way to train it, and the results to keep. The run rejects an invalid schedule.
struct RunConfig : EngineConfig {
    ModelConfig model;
    /// How long a rank may delay the others: in an op beyond the op's nominal time, without a sign of life if ranks are
    /// processes, or for a message that is never sent. After that the run ends with an error that names the rank. The
    /// default is above the time of any op of a model that fits a CPU.
    TimeNs timeout{60'000'000'000};
    std::shared_ptr<Backend> backend; ///< where ranks compute; null = the host
    /// Whether ranks that share a device get their own processors, if it can be divided.
    bool divide_device = false;
    std::optional<AadiffOptions> aadiff; ///< checks in bubbles; none = no checks
    /// Records what devices do, besides the ops; may be null. It must be started before the backend is opened.
    std::shared_ptr<profiler::KernelRecorder> kernels;
    std::filesystem::path out_dir; ///< receives one trace file per rank; empty = record nothing
    /// Limit of the size of a rank's trace, which is written in parts of a quarter each; the oldest part is removed. 0
    /// = one file without limit.
    std::int64_t trace_bytes = 0;
};

struct DeviceDivision {
    int processors = 0; ///< per rank; 0 = not divided
    int of = 0;         ///< processors of the device
    std::string why_not;
};

struct RunSummary {
    std::vector<double> losses;       ///< mean over micro-batches, by executed step
    std::uint64_t weights_digest = 0; ///< FNV-1a over the bytes of all weights, by stage; of one copy of the model
    std::int64_t ops = 0;             ///< executed, including one optimizer op per rank and step
    std::int64_t late_ops = 0;        ///< ops whose end moved because they exceeded the tolerance
    TimeNs max_lateness{0};
    std::vector<MemoryUse> memory;    ///< by rank, when its total was largest
    std::int64_t dropped_records = 0; ///< lost because a ring was full
    std::vector<std::filesystem::path> files;
    std::optional<profiler::KernelCounts> kernels; ///< if the run recorded device activity
    std::optional<DeviceDivision> division;        ///< if the run's device should have been divided among its ranks
    /// For a run with checks: what was planned, and whether ops were delayed for it.
    struct Checks {
        std::optional<int> steps_to_full; ///< steps until all layers are covered; none if some never are
        bool retimed = false;
    };
    std::optional<Checks> checks;
};

/// Trains for `steps` steps, or until the run is asked to end, with one thread per rank, and records the run. Accepts
/// any valid schedule, from the registry or from a file. Errors: Input for an invalid schedule; Run when a rank fails
/// or a file cannot be written (records up to then are readable); Cancelled.
[[nodiscard]] Result<RunSummary> runPipeline(const RunConfig& config, JobControl& control);

/// The result of a run whose ranks are processes.
struct ProcessRun {
    /// On the root the summary of runPipeline(): losses, digest and memory are equal bit for bit. On other processes
    /// only what concerns their rank is filled in. Errors are those of runPipeline(), equal on all processes, and the
    /// watchdog's for a rank whose process has died.
    Result<RunSummary> summary;
    /// False if a process has died: the job can only be left without MPI_Finalize.
    bool all_alive = true;
};

/// Like runPipeline(), with each process of a job as one rank; all processes call it together with equal configs.
/// `out_dir` must be one folder for all, in which each writes its file. Error: Usage, if the job does not have as many
/// processes as the run has ranks, or if the program was built without MPI.
[[nodiscard]] ProcessRun runOverProcesses(const RunConfig& config, JobControl& control, ProcessTeam& team);

} // namespace bubblescope::runtime
