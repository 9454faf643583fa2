#pragma once

#include "core/base/result.h"
#include "core/recognise/found_ops.h"

#include <string>

namespace bubblescope {

/// Where several ranks ran the same stages (data parallelism), tells the replicas of the pipeline apart: the k-th of
/// a stage's ranks belongs to replica k, and its ops count as those of the same place in replica 0. Ops whose rule
/// names the replica are left as they are. `where` names the input. Errors: Input where the ranks do not divide into
/// equal pipelines.
[[nodiscard]] Status splitReplicas(FoundOps& found, const std::string& where);

} // namespace bubblescope
