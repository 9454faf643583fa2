#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/compute_blocks.h"
#include "core/recognise/found_ops.h"
#include "core/recognise/profiler_marks.h"
#include "core/recognise/run.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bubblescope {

struct Inference {
    FoundOps found; ///< no ops if no schedule explains the trace
    Explanation explanation;
    std::string why_not; ///< reason why no ops were found; empty if nothing indicates a pipeline
};

/// Finds the pipeline in a trace that does not name ops. A rank's work between sends and receives forms blocks. The
/// schedule whose order, transfers and dependencies explain all steps then maps these blocks to ops. A schedule or
/// family in `options` is used in place of those in the registry. Pipelines are separated by `places` if known,
/// otherwise by the peers of transfers. `file_blocks` and `file_marks` have one entry per file in `files`.
[[nodiscard]] Inference inferOps(std::span<const TraceFile> files, std::vector<RankBlocks> file_blocks,
                                 const std::vector<ProfilerMarks>& file_marks, const LoadOptions& options,
                                 const std::optional<RankPlaces>& places, DiagnosticLog& log);

/// The blocks of files that contain both compute and transfers, because only they can be part of a pipeline. Empty for
/// other files.
[[nodiscard]] Result<std::vector<RankBlocks>> extractComputeBlocks(RawTrace& raw);

/// The transfers of a pipeline whose ops were inferred. Each send or receive is mapped to the op whose payload it
/// carries. A send comes after the op that produces its payload, and a receive before the op that consumes it. For each
/// peer, transfers are in the order of those ops, as message passing requires. If a rank has fewer transfers of one
/// kind with one peer in a step than its ops need, none of them are mapped; `unmatched` counts these.
///
/// `steps` are those of one pipeline, `ranks` the traces of its ranks by stage, `group` their global ranks. Transfers
/// have the same numbering as the ops of inferOps(): `owner` is the pipeline rank. Adds the names of communicators to
/// `communicators`.
[[nodiscard]] std::vector<FoundComm> inferTransfers(std::span<const CutStep> steps,
                                                    std::span<const RankBlocks* const> ranks,
                                                    std::span<const std::int64_t> group, const Schedule& schedule,
                                                    StringPool& communicators, std::int64_t& unmatched);

} // namespace bubblescope
