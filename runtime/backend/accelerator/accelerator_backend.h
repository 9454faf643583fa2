#pragma once

#include "runtime/backend/accelerator/rank_queue.h"
#include "runtime/backend/backend.h"
#include "runtime/comm/nccl/peer_library.h"

#include <memory>
#include <string>

namespace bubblescope::runtime {

/// All ranks of this process on one accelerator, which they share.
class AcceleratorBackend final : public Backend {
public:
    /// `activations`: how activations, and the weights that products read, are stored. `peers` joins the device with
    /// those of other processes; may be null.
    AcceleratorBackend(std::string name, std::shared_ptr<Accelerator> device, Storage activations,
                       std::shared_ptr<HostClock> clock, std::shared_ptr<PeerLibrary> peers = nullptr);

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] std::string device() const override { return device_->uuid(); }
    [[nodiscard]] std::shared_ptr<RankDevice> openRank() override;
    [[nodiscard]] std::unique_ptr<StageModel> makeStage(RankDevice& device, const ModelConfig& model,
                                                        StageTask task) override;
    [[nodiscard]] Result<std::unique_ptr<DataChannel>> connect(RankDevice& device, const PeerJob& job,
                                                               ProcessTeam& team) override;

private:
    std::string name_;
    std::shared_ptr<Accelerator> device_;
    Storage activations_;
    std::shared_ptr<HostClock> clock_;
    std::shared_ptr<DeviceTime> time_;
    std::shared_ptr<PeerLibrary> peers_;
};

} // namespace bubblescope::runtime
