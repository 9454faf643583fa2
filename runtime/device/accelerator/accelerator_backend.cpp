#include "runtime/device/accelerator/accelerator_backend.h"

#include "runtime/device/accelerator/device_stage.h"
#include "runtime/transport/nccl/join_devices.h"

#include <utility>

namespace bubblescope::runtime {
namespace {

/// Enough to keep a GPU busy while the host is away for a moment.
constexpr std::size_t kOpsAhead = 16;

} // namespace

AcceleratorBackend::AcceleratorBackend(std::string name, std::shared_ptr<Accelerator> device, Storage activations,
                                       std::shared_ptr<HostClock> clock, std::shared_ptr<PeerLibrary> peers)
    : name_(std::move(name)), device_(std::move(device)), activations_(activations), clock_(std::move(clock)),
      time_(std::make_shared<DeviceTime>(*device_, *clock_)), peers_(std::move(peers)) {}

std::shared_ptr<RankDevice> AcceleratorBackend::openRank() {
    device_->bindThread();
    return std::make_shared<RankQueue>(device_, time_);
}

std::unique_ptr<StageModel> AcceleratorBackend::makeStage(RankDevice& device, const ModelConfig& model,
                                                          StageTask task) {
    auto queue = dynamic_cast<RankQueue&>(device).shared_from_this();
    if (activations_ == Storage::Float)
        return std::make_unique<DeviceStage<float>>(std::move(queue), model, std::move(task));
    return std::make_unique<DeviceStage<Bf16>>(std::move(queue), model, std::move(task));
}

Result<std::unique_ptr<DataChannel>> AcceleratorBackend::connect(RankDevice& device, const PeerJob& job,
                                                                 ProcessTeam& team) {
    if (!peers_)
        return usageError("this build cannot join GPUs of several processes", "it needs NCCL; build again with it");
    auto queue = dynamic_cast<RankQueue&>(device).shared_from_this();
    queue->limitAhead(kOpsAhead);
    const auto shape_of = [job, activations = activations_](const MessageKey& key) -> ArrayShape {
        if (key.content == Content::GradientSum)
            return {flatLayout(job.model, job.plan.taskOf(key.consumer)).size, 1, Storage::Float};
        const int slices = job.plan.slices();
        const int length =
            job.model.sequence * (key.sequence + 1) / slices - job.model.sequence * key.sequence / slices;
        return {Eigen::Index{job.model.batch} * length, Eigen::Index{job.model.width}, activations};
    };
    return joinDevices({peers_, std::move(queue), shape_of, job.paced}, planLinks(job.schedule, job.plan, job.mesh),
                       {job.clock, job.timeout}, team);
}

} // namespace bubblescope::runtime
