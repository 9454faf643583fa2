#pragma once

#include "core/base/result.h"
#include "profiler/recorder/recorder.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/rank_hook.h"
#include "runtime/model/stage_model.h"
#include "runtime/run.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope::runtime {

class CheckSetup;
class Transport;

// Functions shared by all execution modes: threads of one process, processes, and the tests' reference.

/// Checks that a run is possible. Errors: Input for an invalid schedule, Usage for impossible sizes.
[[nodiscard]] Status checkConfig(const RunConfig& config);

/// The checks of a run. This is the only place where the runtime's root folder depends on runtime/checks: a build
/// without checks compiles no_checks.cpp instead of run_checks.cpp.
class RunChecks {
public:
    /// Plans the checks of `ranks_here` ranks. Returns null for a run without checks. Reference arguments must outlive
    /// the result. Errors: see studyAadiff(); Usage, if the program was built without checks.
    [[nodiscard]] static Result<std::unique_ptr<RunChecks>> plan(const RunConfig& config, std::size_t ranks_here);

    explicit RunChecks(std::unique_ptr<CheckSetup> setup);
    RunChecks(const RunChecks&) = delete;
    RunChecks& operator=(const RunChecks&) = delete;
    ~RunChecks();

    /// The recorder, which must outlive the run, records mismatches; null = they are not recorded.
    void recordInto(profiler::Recorder* recorder);
    /// See checkMemoryOf().
    [[nodiscard]] std::int64_t memoryOf(const RunConfig& config, Rank rank, int value_bytes) const;
    [[nodiscard]] AttachHook attach();
    /// If the transport carries mail, makes this rank, one of `ranks` processes, ask the other processes by mail.
    void askProcesses(Transport& transport, int ranks);
    [[nodiscard]] RunSummary::Checks summary() const;

private:
    std::unique_ptr<CheckSetup> setup_;
};

/// Checks that these ranks, which share a device, fit into the device's memory. Counts the minimum that the ranks hold:
/// weights, gradients, the optimizer's moments, and the activations at the peak of the order; and what their checks,
/// null if there are none, hold at most. Error: Usage.
[[nodiscard]] Status checkDeviceMemory(const RunConfig& config, std::span<const Rank> ranks, const RunChecks* checks);

/// The reason why a run failed, for its files: "rank 1, F0.0 of step 2: …". Empty if the run was only stopped.
[[nodiscard]] std::string failureOf(const Error& error);

/// Opens a recorder for the ranks of this process, or for all ranks if `ranks` is empty; null if the run records
/// nothing.
[[nodiscard]] Result<std::unique_ptr<profiler::Recorder>> openRecorder(const RunConfig& config,
                                                                       std::vector<Rank> ranks = {});

/// Sends the kernels of a run to the recorder's ranks, or to rank `only`. Does nothing without kernels or without a
/// recorder.
void recordKernels(const RunConfig& config, profiler::Recorder* recorder, std::optional<Rank> only = {});

/// Returns the parts that the engine needs for the ranks of these transports. `recorder`, `checks` and `divided` may be
/// null; if `divided` is set, ranks are opened on its parts. All arguments must outlive the run.
[[nodiscard]] EngineParts engineParts(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                                      profiler::Recorder* recorder, RunChecks* checks,
                                      DividedDevice* divided = nullptr);

/// A step's loss: the sum of its shares, in the order used by all execution modes.
[[nodiscard]] double lossOf(const std::vector<double>& shares);

/// The trained stages, by replica and tensor rank (see RunMesh::laneOf()), then by stage.
using TrainedStages = std::vector<std::vector<std::unique_ptr<StageModel>>>;

/// The digest of the model; `hashes` are the digests of its copies, which must match. Error: Run, if digests differ.
[[nodiscard]] Result<std::uint64_t> oneDigest(std::span<const std::uint64_t> hashes);

/// The digest of stages that are all in this process. There is a copy of the model for each replica and each of its
/// `routes` pipelines; ranks that share a stage are hashed in ascending order.
[[nodiscard]] Result<std::uint64_t> digestOf(const TrainedStages& stages, int routes, int tensor_ranks = 1);

} // namespace bubblescope::runtime
