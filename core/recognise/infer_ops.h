#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/compute_blocks.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

struct Inference {
    FoundOps found; ///< without ops if nothing explains the trace
    Explanation explanation;
    std::string why_not; ///< for display; empty if the trace shows no sign of a pipeline
};

/// Finds the pipeline in a trace that names no ops: ranks compute blocks between sends and receives, and the schedule
/// whose order, transfers and dependencies explain all steps determines which block is which op. A schedule or family
/// in `options` replaces the registry's. Pipelines are separated by `places` if known, otherwise by the peers of
/// transfers. `file_blocks` and `file_marks` have one entry for each of the trace's `files`.
[[nodiscard]] Inference inferOps(std::span<const TraceFile> files, std::vector<RankBlocks> file_blocks,
                                 const std::vector<ProfilerMarks>& file_marks, const LoadOptions& options,
                                 const std::optional<RankPlaces>& places, DiagnosticLog& log);

/// The blocks of files that both computed and transferred something, because only they can be part of a pipeline. Empty
/// for the others.
[[nodiscard]] Result<std::vector<RankBlocks>> extractComputeBlocks(RawTrace& raw);

/// The transfers of a pipeline whose ops were inferred, with the op whose payload each send or receive carries. A send
/// comes after the op that produces its payload, and a receive before the op that consumes it; for each peer they are
/// in the order of those ops, as message passing requires. If a rank has fewer of them in a step than its ops need,
/// none of that kind and peer is assigned, and `unmatched` counts them.
///
/// `steps` are those of one pipeline, `ranks` its ranks' traces, first stage's first, and `group` their global numbers.
/// Transfers are numbered like the ops of inferOps(): `owner` is the pipeline rank.
[[nodiscard]] std::vector<FoundComm> inferTransfers(std::span<const CutStep> steps,
                                                    std::span<const RankBlocks* const> ranks,
                                                    std::span<const std::int64_t> group, const Schedule& schedule,
                                                    std::int64_t& unmatched);

} // namespace bubblescope
