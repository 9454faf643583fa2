#pragma once

#include "profiler/recorder/recorder.h"
#include "runtime/engine/engine.h"
#include "runtime/model/stage_model.h"
#include "runtime/run.h"
#include "runtime/run_checks.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope::runtime {

// Functions shared by the ways to run: threads of one process, processes, and the reference.

/// Whether a run is possible. Errors: Input for an invalid schedule, Usage for impossible numbers.
[[nodiscard]] Status checkConfig(const RunConfig& config);

/// The recorder of the ranks that run here, or of all if `ranks` is empty; null if the run records nothing.
[[nodiscard]] Result<std::unique_ptr<profiler::Recorder>> openRecorder(const RunConfig& config,
                                                                       std::vector<Rank> ranks = {});

/// The engine's configuration for the ranks at these ends; `recorder` and `checks` may be null. Everything must outlive
/// the run.
[[nodiscard]] EngineConfig engineConfig(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                                        profiler::Recorder* recorder, RunChecks* checks);

/// A step's loss from its shares, added in the one order that all ways to run use.
[[nodiscard]] double lossOf(const std::vector<double>& shares);

/// By replica and tensor rank, see RunMesh::laneOf(), then by stage.
using TrainedStages = std::vector<std::vector<std::unique_ptr<StageModel>>>;

/// The digest of the model, whose copies must be equal: `hashes` are those of the copies. Error: Run, if they differ.
[[nodiscard]] Result<std::uint64_t> oneDigest(std::span<const std::uint64_t> hashes);

/// The digest of stages that are all in this process. There is a copy of the model for each replica and each of its
/// `routes` pipelines; the first of the ranks that share a stage comes first.
[[nodiscard]] Result<std::uint64_t> digestOf(const TrainedStages& stages, int routes, int tensor_ranks = 1);

} // namespace bubblescope::runtime
