#pragma once

#include "runtime/backend/backend.h"
#include "runtime/backend/nccl/peer_library.h"

#include <memory>

namespace bubblescope::runtime {

/// Connects the devices of all processes of a team, each of which is one rank, by communicators of this library: see
/// planLinks(). Errors: Usage if the slices of a sequence differ in length and ranks share stages; Run, equal on all
/// processes, if one of them could not connect.
[[nodiscard]] DeviceConnector connectDevices(std::shared_ptr<PeerLibrary> library);

} // namespace bubblescope::runtime
