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

// What the ways to run have in common: threads of one process, processes, and the reference.

/// Whether a run can be made. Errors: Input for an invalid schedule, Usage for numbers that make no run.
[[nodiscard]] Status checkConfig(const RunConfig& config);

/// The recorder of the ranks that run here, all if `ranks` is empty; null if the run records nothing.
[[nodiscard]] Result<std::unique_ptr<profiler::Recorder>> openRecorder(const RunConfig& config,
                                                                       std::vector<Rank> ranks = {});

/// What the engine needs to run the ranks at these ends; `recorder` and `checks` may be null. Everything must outlive
/// the run.
[[nodiscard]] EngineConfig engineConfig(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                                        profiler::Recorder* recorder, RunChecks* checks);

/// A step's loss from its shares, in the one order that all ways to run use.
[[nodiscard]] double lossOf(const std::vector<double>& shares);

/// By replica and tensor rank, see RunMesh::laneOf(), then stage.
using TrainedStages = std::vector<std::vector<std::unique_ptr<StageModel>>>;

/// The digest of the model, whose copies must be equal: `hashes` are those of each copy. Error: Run, if they are not.
[[nodiscard]] Result<std::uint64_t> oneDigest(std::span<const std::uint64_t> hashes);

/// Of stages that are all here; there is a copy of the model for each replica and each of its `routes` pipelines. Of
/// ranks that share a stage the first comes first.
[[nodiscard]] Result<std::uint64_t> digestOf(const TrainedStages& stages, int routes, int tensor_ranks = 1);

} // namespace bubblescope::runtime
