#pragma once

#include "runtime/accelerator/accelerator.h"

#include <cstdint>
#include <memory>
#include <string>

namespace bubblescope::runtime {

/// One member's end of a communicator between devices. Destroying it gives up what is under way.
class PeerComm {
public:
    PeerComm() = default;
    PeerComm(const PeerComm&) = delete;
    PeerComm& operator=(const PeerComm&) = delete;
    virtual ~PeerComm() = default;

    /// Queue a transfer to or from another member on the stream; only within a group of the library. Of one stream at a
    /// time, and only when the communicator is ready. The n-th send from one member to another meets the n-th receive
    /// there, which must be as long.
    virtual void send(const void* from, std::int64_t bytes, int peer, Accelerator::Stream stream) = 0;
    virtual void receive(void* to, std::int64_t bytes, int peer, Accelerator::Stream stream) = 0;

    /// Whether the last call has been carried out, so that another one, or other work for its stream, may follow.
    /// Throws, with the library's words, once the communicator has failed, be it here or at a peer.
    [[nodiscard]] virtual bool ready() = 0;

    /// Ends everything under way, here, without asking the peers; streams that wait for them go on.
    virtual void abort() noexcept = 0;
};

/// What we need of NCCL: transfers between devices of several processes, queued on streams. Calls return at once; what
/// they began is done when PeerComm::ready() returns true. Tests replace it by an emulation with the same rules.
/// Failures are exceptions.
class PeerLibrary {
public:
    virtual ~PeerLibrary() = default;

    /// As people know it, with its version.
    [[nodiscard]] virtual std::string name() const = 0;
    /// An identity for a communicator that is to be, made by one process and told to all members.
    [[nodiscard]] virtual std::string makeId() = 0;
    /// Begins to join a communicator; ready when all of its `size` members have, each with its own `rank`.
    [[nodiscard]] virtual std::unique_ptr<PeerComm> join(const std::string& id, int rank, int size) = 0;

    /// What one thread queues between these two is transferred concurrently; the stream continues when all of it is
    /// done.
    virtual void beginGroup() = 0;
    virtual void endGroup() = 0;
};

} // namespace bubblescope::runtime
