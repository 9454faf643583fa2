#pragma once

#include "runtime/backend/nccl/peer_library.h"

#include <memory>

namespace bubblescope::runtime {

/// NCCL between GPUs. Loads the library on first use.
[[nodiscard]] std::shared_ptr<PeerLibrary> makeNcclPeers();

} // namespace bubblescope::runtime
