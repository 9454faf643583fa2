#pragma once

#include "core/base/result.h"
#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <filesystem>

/// Execution traces of MLCommons Chakra (schema/protobuf/et_def.proto), the input of network simulators such as
/// ASTRA-sim. A trace has one graph of nodes per rank. Each message is preceded by its length as a varint.
namespace bubblescope::chakra {

/// Writes a step as one file "rank.<R>.et" per rank in `folder`, which is created if needed. Simulators read the rank
/// from this part of the name. An op is a COMP_NODE with its duration in microseconds, rounded so that a rank's total
/// is off by at most half a microsecond. The halves of an overlapped pair form one node. A transfer between ranks is a
/// COMM_SEND_NODE and a COMM_RECV_NODE with the same tag and `transfer_bytes`. All dependencies are data dependencies,
/// because simulators ignore all others. An op depends on the previous op of its rank, on its receives, and on its
/// producer on the same rank. A send depends on the op that produces its payload. The trace does not contain waits.
/// Errors: Input if a file cannot be written.
[[nodiscard]] Status writeStep(const std::filesystem::path& folder, const StepTimeline& step,
                               std::int64_t transfer_bytes);

} // namespace bubblescope::chakra
