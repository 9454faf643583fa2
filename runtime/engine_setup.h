#pragma once

#include "profiler/recorder/recorder.h"
#include "runtime/checks/check_setup.h"
#include "runtime/engine/engine.h"
#include "runtime/run.h"

#include <memory>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// The recorder of the ranks that run here, all if `ranks` is empty; null if the run records nothing.
[[nodiscard]] Result<std::unique_ptr<profiler::Recorder>> openRecorder(const RunConfig& config,
                                                                       std::vector<Rank> ranks = {});

/// What a run that checks itself plans, for so many ranks here; null where it does not. Writes to the recorder, if
/// there is one.
[[nodiscard]] Result<std::unique_ptr<CheckSetup>> planChecksOf(const RunConfig& config, std::size_t ranks_here,
                                                               profiler::Recorder* recorder);

/// What the engine needs to run the ranks at these ends. Everything must outlive the run.
[[nodiscard]] EngineConfig engineConfig(const RunConfig& config, HostClock& clock, std::vector<Transport*> ranks,
                                        profiler::Recorder* recorder, CheckSetup* checks);

[[nodiscard]] std::optional<RunSummary::Checks> summaryOf(const CheckSetup* checks);

/// A step's loss from its shares, in the one order that all ways to run use.
[[nodiscard]] double lossOf(const std::vector<double>& shares);

} // namespace bubblescope::runtime
