#pragma once

#include "core/base/diagnostic.h"
#include "core/recognise/found_ops.h"

#include <string>

namespace bubblescope {

/// Infers that stages move between ranks, if names contain the stage of each op: each op of a step then ran on one
/// rank, although its stage also ran on other ranks, and all ranks have an order of movingOrders(). Replicas of a
/// pipeline, which also run each stage several times, repeat ops or have other orders. Sets FoundOps::moving and makes
/// the stages chunks; the log reports the guess. Changes nothing if no such order fits. Linear in the number of ops,
/// apart from sorting. `where` is the name of the input.
void guessMovingStages(FoundOps& found, const std::string& where, DiagnosticLog& log);

} // namespace bubblescope
