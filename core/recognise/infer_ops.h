#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/compute_blocks.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/run.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

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
/// `files` has the trace's files, `file_blocks` those of blocksOfFiles() in the same order, and `file_marks` one
/// entry a file.
[[nodiscard]] Inference inferOps(std::span<const TraceFile> files, std::vector<RankBlocks> file_blocks,
                                 const std::vector<ProfilerMarks>& file_marks, const LoadOptions& options,
                                 const std::optional<RankPlaces>& places, DiagnosticLog& log);

/// The blocks of those of a share's files that both computed and transferred something: only they can be part of a
/// pipeline.
[[nodiscard]] std::vector<RankBlocks> blocksOfFiles(TraceShare& share);

} // namespace bubblescope
