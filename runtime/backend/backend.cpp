#include "runtime/backend/backend.h"

#include "runtime/model/gpt_stage.h"

#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bubblescope::runtime {
std::shared_ptr<RankQueue> DividedDevice::openRank() {
    std::shared_ptr<Accelerator> part;
    {
        const std::lock_guard lock(mutex_);
        if (opened_ == parts_.size()) throw std::logic_error("a device was partitioned for fewer ranks");
        part = parts_[opened_++];
    }
    part->bindThread();
    return std::make_shared<RankQueue>(std::move(part), time_);
}

Backend::Backend(std::string name, std::shared_ptr<Accelerator> device, Storage activations,
                 std::shared_ptr<HostClock> clock, DeviceConnector connector)
    : name_(std::move(name)), device_(std::move(device)), activations_(activations), clock_(std::move(clock)),
      time_(std::make_shared<DeviceTime>(*device_, *clock_)), connector_(std::move(connector)) {}

std::optional<DeviceMemory> Backend::memory() const {
    const std::optional<std::int64_t> bytes = device_->memory();
    if (!bytes) return std::nullopt;
    return DeviceMemory{*bytes, static_cast<int>(bytesOf(activations_))};
}

std::shared_ptr<RankQueue> Backend::openRank() {
    device_->bindThread();
    return std::make_shared<RankQueue>(device_, time_);
}

Result<std::unique_ptr<DividedDevice>> Backend::divide(int ranks) {
    device_->bindThread();
    BUBBLESCOPE_ASSIGN(std::vector<std::shared_ptr<Accelerator>> parts, device_->divide(ranks));
    return std::make_unique<DividedDevice>(std::move(parts), device_->processors(), time_);
}

std::unique_ptr<StageModel> Backend::makeStage(RankQueue& device, const ModelConfig& model, StageTask task) {
    std::shared_ptr<RankQueue> queue = device.shared();
    if (activations_ == Storage::Float)
        return std::make_unique<GptStage<float>>(std::move(queue), model, std::move(task));
    return std::make_unique<GptStage<Bf16>>(std::move(queue), model, std::move(task));
}

Result<std::unique_ptr<DataChannel>> Backend::connect(RankQueue& device, const PeerJob& job, ProcessTeam& team) {
    if (!connector_) return usageError("this build cannot connect GPUs of several processes", "rebuild with NCCL");
    return connector_(device.shared(), activations_, job, team);
}

} // namespace bubblescope::runtime
