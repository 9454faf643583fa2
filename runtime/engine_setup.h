#pragma once

#include "profiler/recorder/recorder.h"
#include "runtime/engine/engine.h"
#include "runtime/run.h"

#include <memory>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// The recorder of the ranks that run here, all if `ranks` is empty; null if the run records nothing.
[[nodiscard]] Result<std::unique_ptr<profiler::Recorder>> openRecorder(const RunConfig& config,
                                                                       std::vector<Rank> ranks = {});

/// What the engine needs to run the ranks at these ends. Everything must outlive the run.
[[nodiscard]] EngineConfig engineConfig(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                                        profiler::Recorder* recorder);

/// A step's loss from its shares, in the one order that all ways to run use.
[[nodiscard]] double lossOf(const std::vector<double>& shares);

} // namespace bubblescope::runtime
