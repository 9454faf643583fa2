#include "runtime/backend/queued/accelerator_backend.h"

#include "runtime/model/gpt_stage.h"

#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
namespace {

class DividedAccelerator final : public DividedDevice {
public:
    DividedAccelerator(std::vector<std::shared_ptr<Accelerator>> parts, int all, std::shared_ptr<DeviceTime> time)
        : parts_(std::move(parts)), all_(all), time_(std::move(time)) {}

    [[nodiscard]] int processors() const override { return parts_.front()->processors(); }
    [[nodiscard]] int allProcessors() const override { return all_; }
    [[nodiscard]] std::shared_ptr<RankDevice> openRank() override {
        std::shared_ptr<Accelerator> part;
        {
            const std::lock_guard lock(mutex_);
            if (opened_ == parts_.size()) throw std::logic_error("a device was divided among fewer ranks");
            part = parts_[opened_++];
        }
        part->bindThread();
        return std::make_shared<RankQueue>(std::move(part), time_);
    }

private:
    std::vector<std::shared_ptr<Accelerator>> parts_;
    int all_;
    std::shared_ptr<DeviceTime> time_;
    std::mutex mutex_;
    std::size_t opened_ = 0;
};

} // namespace

AcceleratorBackend::AcceleratorBackend(std::string name, std::shared_ptr<Accelerator> device, Storage activations,
                                       std::shared_ptr<HostClock> clock, DeviceConnector connector)
    : name_(std::move(name)), device_(std::move(device)), activations_(activations), clock_(std::move(clock)),
      time_(std::make_shared<DeviceTime>(*device_, *clock_)), connector_(std::move(connector)) {}

std::optional<DeviceMemory> AcceleratorBackend::memory() const {
    const std::optional<std::int64_t> bytes = device_->memory();
    if (!bytes) return std::nullopt;
    return DeviceMemory{*bytes, static_cast<int>(bytesOf(activations_))};
}

std::shared_ptr<RankDevice> AcceleratorBackend::openRank() {
    device_->bindThread();
    return std::make_shared<RankQueue>(device_, time_);
}

Result<std::unique_ptr<DividedDevice>> AcceleratorBackend::divide(int ranks) {
    device_->bindThread();
    BUBBLESCOPE_ASSIGN(std::vector<std::shared_ptr<Accelerator>> parts, device_->divide(ranks));
    return std::unique_ptr<DividedDevice>(
        std::make_unique<DividedAccelerator>(std::move(parts), device_->processors(), time_));
}

std::unique_ptr<StageModel> AcceleratorBackend::makeStage(RankDevice& device, const ModelConfig& model,
                                                          StageTask task) {
    auto queue = dynamic_cast<RankQueue&>(device).shared_from_this();
    if (activations_ == Storage::Float)
        return std::make_unique<GptStage<float>>(std::move(queue), model, std::move(task));
    return std::make_unique<GptStage<Bf16>>(std::move(queue), model, std::move(task));
}

Result<std::unique_ptr<DataChannel>> AcceleratorBackend::connect(RankDevice& device, const PeerJob& job,
                                                                 ProcessTeam& team) {
    if (!connector_)
        return usageError("this build cannot join GPUs of several processes", "it needs NCCL; build again with it");
    return connector_(dynamic_cast<RankQueue&>(device).shared_from_this(), activations_, job, team);
}

} // namespace bubblescope::runtime
