#pragma once

#include "runtime/accelerator/accelerator.h"

#include <cstdint>
#include <memory>
#include <string>

namespace bubblescope::runtime {

/// One member's end of a communicator between devices. Destroying this object abandons pending transfers.
class PeerComm {
public:
    PeerComm() = default;
    PeerComm(const PeerComm&) = delete;
    PeerComm& operator=(const PeerComm&) = delete;
    virtual ~PeerComm() = default;

    /// Queue a transfer to or from another member on the stream. Call these only within a group of the library, on one
    /// stream at a time, and only when the communicator is ready. The n-th send from one member to another matches the
    /// n-th receive at the other member and must have the same size.
    virtual void send(const void* from, std::int64_t bytes, int peer, Accelerator::Stream stream) = 0;
    virtual void receive(void* to, std::int64_t bytes, int peer, Accelerator::Stream stream) = 0;

    /// True if the last call has completed, so that another call or other work on the stream may follow. Throws, with
    /// the library's message, if the communicator has failed on this rank or at a peer.
    [[nodiscard]] virtual bool ready() = 0;

    /// Ends all pending transfers on this rank without involving the peers; streams that wait for them continue.
    virtual void abort() noexcept = 0;
};

/// The NCCL functions used here: transfers between devices of several processes, queued on streams. Calls return
/// immediately; their work is done when PeerComm::ready() returns true. Tests replace this class with an emulation that
/// follows the same rules. Failures are exceptions.
class PeerLibrary {
public:
    virtual ~PeerLibrary() = default;

    /// The common name of the library, with its version.
    [[nodiscard]] virtual std::string name() const = 0;
    /// A new id for a communicator, created by one process and passed to all members.
    [[nodiscard]] virtual std::string makeId() = 0;
    /// Starts joining a communicator of `size` members, each with a different `rank`. The communicator is ready when
    /// all have joined and a first message has been sent in each direction that will be used: from member 0 to member 1
    /// if `one_way`, otherwise between any two members. Later transfers therefore never load code or set up a
    /// connection while another transfer waits on the device.
    [[nodiscard]] virtual std::unique_ptr<PeerComm> join(const std::string& id, int rank, int size, bool one_way) = 0;
    /// The maximum number of blocks that a transfer occupies on the device until both ends have arrived.
    [[nodiscard]] virtual int blocksOfTransfer() const = 0;

    /// The transfers that one thread queues between these two calls run concurrently; the stream continues when all of
    /// them are done.
    virtual void beginGroup() = 0;
    virtual void endGroup() = 0;
};

} // namespace bubblescope::runtime
