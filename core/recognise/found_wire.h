#pragma once

#include "core/base/wire.h"
#include "core/recognise/found_ops.h"

#include <vector>

// Serialization (core/base/wire.h) of what was found in a trace. A run has millions of ops and transfers, which one
// process receives from all others: numbers that are small, as they nearly always are, take half of what they take in
// memory.
namespace bubblescope {

void wireFound(WireWriter& wire, const std::vector<FoundOp>& ops);
void wireFound(WireReader& wire, std::vector<FoundOp>& ops);
void wireFound(WireWriter& wire, const std::vector<FoundComm>& comm);
void wireFound(WireReader& wire, std::vector<FoundComm>& comm);

} // namespace bubblescope
