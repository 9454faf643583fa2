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

/// Replaces NCCL between the streams of one emulated device, and throws if one of NCCL's rules is broken:
/// - transfers are only queued within a group, on a communicator that is ready, always on the same stream;
/// - a transfer begins when both ends have come to it in their streams, and a group ends when all of its transfers have
///   (so ends that queue in different orders wait for each other);
/// - sends from one member to another are matched with its receives by their order alone, and must be as long.
/// As with a communicator that does not block, nothing is on a stream before ready() has said so, which takes a few
/// times of asking. All ranks share one library.
class EmulatedPeers final : public PeerLibrary {
public:
    explicit EmulatedPeers(EmulatedDevice& device) : device_(device) {}

    [[nodiscard]] std::string name() const override { return "emulated"; }
    [[nodiscard]] std::string makeId() override;
    [[nodiscard]] std::unique_ptr<PeerComm> join(const std::string& id, int rank, int size, bool one_way) override;
    [[nodiscard]] int blocksOfTransfer() const override { return 2; }
    void beginGroup() override;
    void endGroup() override;

    /// After that many groups all communicators say that they have failed.
    void breakAfter(int groups, std::string why);
    /// Communicators that are joined and not gone, and how many there were in all.
    [[nodiscard]] int comms() const;
    [[nodiscard]] int joined() const;

private:
    class Comm;
    struct World;
    struct Ends;
    /// One end of one transfer, as it was asked for.
    struct Operation {
        bool sends = false;
        void* data = nullptr;
        std::int64_t bytes = 0;
        int peer = 0;
        Accelerator::Stream stream = nullptr;
    };

    EmulatedDevice& device_;
    mutable std::mutex mutex_; ///< never held while the device is called
    std::map<std::string, std::shared_ptr<World>> worlds_;
    std::map<std::thread::id, std::vector<std::pair<Comm*, Operation>>> groups_;
    std::string failure_;
    int groups_until_failure_ = -1; ///< negative = it never comes
    int comms_ = 0;
    int joined_ = 0;
};

} // namespace bubblescope::runtime::test
