#pragma once

#include "core/cost/communicators.h"
#include "core/schedule/action.h"
#include "runtime/backend/nccl/peer_library.h"

#include <cstdint>
#include <functional>
#include <string>

namespace bubblescope::runtime::test {

/// Performs one rank's actions of an order on a device and through communicators, as a framework would: every
/// communicator has a stream, ops wait for what they receive, and transfers for earlier ops. Ops compute nothing.
struct OrderOnPeers {
    const LoweredSchedule& order;
    Rank self;
    Communicators communicators; ///< not Tag: NCCL has no tags
    std::int64_t bytes = 0;      ///< of each transfer
    PeerLibrary& library;
    Accelerator& device;
    /// The id of the n-th communicator, equal on all ranks; every rank is a member of each.
    std::function<std::string(std::size_t n)> id_of;
    /// Called repeatedly while communicators are joined and calls are posted; if true, the rank stops.
    std::function<bool()> stops;
    /// Called once all actions are posted. Waits for the event, and returns false if it will not be reached.
    std::function<bool(Accelerator::Event)> await;

    /// Returns true if all actions end, and false if the rank stopped earlier. Communicators are aborted in that case.
    [[nodiscard]] bool run();
};

} // namespace bubblescope::runtime::test
