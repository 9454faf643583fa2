#pragma once

#include "runtime/comm/nccl/peer_library.h"

#include <memory>

namespace bubblescope::runtime {

/// NCCL between GPUs, with communicators that do not block. Loads the library when it is first asked for something.
[[nodiscard]] std::shared_ptr<PeerLibrary> makeNcclPeers();

} // namespace bubblescope::runtime
