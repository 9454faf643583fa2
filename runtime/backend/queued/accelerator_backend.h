#pragma once

#include "runtime/backend/backend.h"
#include "runtime/backend/queued/rank_queue.h"

#include <functional>
#include <memory>
#include <string>

namespace bubblescope::runtime {

/// Connects a rank's device with those of the other processes; see Backend::connect(). `activations` is the storage of
/// transferred activations.
using DeviceConnector = std::function<Result<std::unique_ptr<DataChannel>>(
    const std::shared_ptr<RankQueue>& queue, Storage activations, const PeerJob& job, ProcessTeam& team)>;

/// A backend on which all ranks of this process share one accelerator.
class AcceleratorBackend final : public Backend {
public:
    /// `activations`: storage of activations, and of the weights that products read. `connector` connects the device
    /// with those of other processes; empty if the backend cannot.
    AcceleratorBackend(std::string name, std::shared_ptr<Accelerator> device, Storage activations,
                       std::shared_ptr<HostClock> clock, DeviceConnector connector = {});

    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] std::string device() const override { return device_->uuid(); }
    [[nodiscard]] std::optional<DeviceMemory> memory() const override;
    [[nodiscard]] bool fusesAttention(std::int64_t head_width) const override {
        return device_->fusesAttention(activations_, head_width);
    }
    [[nodiscard]] std::shared_ptr<RankDevice> openRank() override;
    [[nodiscard]] Result<std::unique_ptr<DividedDevice>> divide(int ranks) override;
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
    DeviceConnector connector_;
};

} // namespace bubblescope::runtime
