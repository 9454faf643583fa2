#pragma once

#include "runtime/backend/backend.h"
#include "runtime/backend/nccl/peer_library.h"

#include <memory>

namespace bubblescope::runtime {

/// Connects the devices of all processes of a team through communicators of this library, with one rank per process;
/// see planLinks(). Errors: Usage if the slices of a sequence differ in length and ranks share stages; Run if a process
/// could not connect. All processes return the same error.
[[nodiscard]] DeviceConnector connectDevices(std::shared_ptr<PeerLibrary> library);

} // namespace bubblescope::runtime
