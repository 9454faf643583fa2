#pragma once

#include "core/base/result.h"
#include "runtime/run.h"

namespace bubblescope::runtime {

/// Reference that a pipelined run must match bit for bit: trains the same model on the same data without a pipeline, on
/// one thread (or one per rank that shares stages), and sums gradients in the order of DataPlan
/// (runtime/model/data_plan.h), or of the turns of weipipe-zb. The result depends on the number of stages and
/// micro-batches, on sequence slices, on the assignment of micro-batches to two pipelines, and on the number of ranks
/// that share a stage, but not on the order of ops. Fills in only losses and digest.
///
/// For orders without a flush, applies the same delayed updates: it keeps all versions of all stages, and each
/// micro-batch uses the version of each stage that the papers on PipeDream and PipeDream-2BW specify.
[[nodiscard]] Result<RunSummary> runReference(const RunConfig& config);

} // namespace bubblescope::runtime
