#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/run.h"

#include <optional>
#include <string>

namespace bubblescope {

struct Inference {
    FoundOps found; ///< without ops where nothing explains the trace
    Explanation explanation;
    std::string why_not; ///< for people; empty where the trace shows no sign of a pipeline
};

/// Finds the pipeline in a trace that names no op: ranks compute blocks between sends and receives, and the schedule
/// whose order, transfers and dependencies explain those of all steps says which block is which op. A schedule or
/// family in `options` takes the place of the registry's. `places` tells pipelines apart where it is known; else the
/// peers of transfers do.
[[nodiscard]] Inference inferOps(const Trace& trace, const GpuWork& gpu, const LoadOptions& options,
                                 const std::optional<RankPlaces>& places, DiagnosticLog& log);

} // namespace bubblescope
