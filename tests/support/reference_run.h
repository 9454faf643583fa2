#pragma once

#include "core/base/result.h"
#include "runtime/run.h"

namespace bubblescope::runtime {

/// Trains the same model on the same data without a pipeline, on one thread (or one for each of the ranks that share
/// stages), with gradients summed in the order of DataPlan (runtime/model/data_plan.h): the reference that a pipelined
/// run must equal bit for bit. The result depends on the number of stages and micro-batches, on sequence slices, on the
/// assignment of micro-batches to two pipelines, and on the number of ranks that share a stage, but not on the order of
/// ops. Fills in only losses and digest.
///
/// For orders without a flush, applies the same delayed updates: it keeps all versions of all stages, and each
/// micro-batch runs, on each stage, with the version that the papers state for PipeDream and PipeDream-2BW.
[[nodiscard]] Result<RunSummary> runReference(const RunConfig& config);

} // namespace bubblescope::runtime
