#pragma once

#include "runtime/backend/nccl/peer_library.h"
#include "tests/support/emulated_device.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {

/// Replaces NCCL between the streams of one emulated device, and throws if one of NCCL's rules is violated:
/// - transfers are only queued within a group, on a communicator that is ready, always on the same stream;
/// - a transfer starts when both ends have reached it in their streams, and a group ends when all its transfers have
///   ended (so ends that queue in different orders deadlock);
/// - sends from one member to another are matched with its receives only by order, and must have the same length.
/// As with a non-blocking communicator, streams must not be used before ready() returns true, which takes several
/// calls. All ranks share one library.
class EmulatedPeers final : public PeerLibrary {
public:
    explicit EmulatedPeers(EmulatedDevice& device) : device_(device) {}

    [[nodiscard]] std::string name() const override { return "emulated"; }
    [[nodiscard]] std::string makeId() override;
    [[nodiscard]] std::unique_ptr<PeerComm> join(const std::string& id, int rank, int size, bool one_way) override;
    [[nodiscard]] int blocksOfTransfer() const override { return 2; }
    void beginGroup() override;
    void endGroup() override;

    /// Makes all ranks share one GPU of one host, which NCCL refuses: no communicator of several members can be joined.
    void putOnOneGpu();
    /// Makes all communicators report an error after that many groups.
    void breakAfter(int groups, std::string why);
    /// Number of active communicators; the next function returns the number of all communicators so far.
    [[nodiscard]] int comms() const;
    [[nodiscard]] int joined() const;

private:
    class Comm;
    struct World;
    struct Ends;
    /// One end of a requested transfer.
    struct Operation {
        bool sends = false;
        void* data = nullptr;
        std::int64_t bytes = 0;
        int peer = 0;
        Accelerator::Stream stream = nullptr;
    };

    EmulatedDevice& device_;
    mutable std::mutex mutex_; ///< not held during calls of the device
    std::map<std::string, std::shared_ptr<World>> worlds_;
    std::map<std::thread::id, std::vector<std::pair<Comm*, Operation>>> groups_;
    std::string failure_;
    bool one_gpu_ = false;
    int groups_until_failure_ = -1; ///< negative = no failure
    int comms_ = 0;
    int joined_ = 0;
};

} // namespace bubblescope::runtime::test
