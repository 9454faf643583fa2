#pragma once

#include "core/base/result.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <filesystem>

/// Execution traces of MLCommons Chakra (schema/protobuf/et_def.proto), which network simulators such as ASTRA-sim
/// take: a graph of nodes for each rank, each message behind its length as a varint.
namespace bubblescope::chakra {

/// Writes a step: a file "rank.<R>.et" for each rank in `folder`, which is made if it does not exist; the number is
/// where simulators look for it. An op is a COMP_NODE with the time it took, in microseconds, rounded so that sums over
/// a rank are never off by more than half a one; halves of an overlapped pair are one node. A transfer between ranks is
/// a COMM_SEND_NODE and a COMM_RECV_NODE of one tag, with `transfer_bytes`. All dependencies are data dependencies,
/// since simulators do not follow others: an op's on the one before it on its rank, what it receives, and its producer
/// on the same rank; a send's on its op. Waiting is no part of the trace. Errors: Input if a file cannot be written.
[[nodiscard]] Status writeStep(const std::filesystem::path& folder, const StepTimeline& step,
                               std::int64_t transfer_bytes);

} // namespace bubblescope::chakra
