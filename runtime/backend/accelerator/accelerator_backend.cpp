#include "runtime/backend/accelerator/accelerator_backend.h"

#include "runtime/backend/accelerator/device_stage.h"
#include "runtime/comm/nccl/join_devices.h"

#include <fmt/format.h>

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
    const int slices = job.plan.slices();
    if (job.mesh.tensor_ranks > 1 && job.model.sequence % slices != 0) {
        return usageError(
            fmt::format("sequences of {} tokens cannot be cut into {} equal slices", job.model.sequence, slices),
            "GPUs of several processes that share stages need equal ones: choose another --sequence");
    }
    auto queue = dynamic_cast<RankQueue&>(device).shared_from_this();
    queue->limitAhead(kOpsAhead);
    const auto shape_of = [job, slices, activations = activations_](const MessageKey& key) -> ArrayShape {
        if (key.content == Content::GradientSum) {
            StageTask task = job.plan.taskOf(key.consumer);
            task.shard.size = job.mesh.tensor_ranks;
            return {flatLayout(job.model, task).size, 1, Storage::Float};
        }
        const bool part = key.content == Content::Part; // its sequence counts sums
        const int slice = part ? 0 : key.sequence;
        const int length = job.model.sequence * (slice + 1) / slices - job.model.sequence * slice / slices;
        return {Eigen::Index{job.model.batch} * length, Eigen::Index{job.model.width},
                part ? Storage::Float : activations};
    };
    return joinDevices({peers_, std::move(queue), shape_of, job.paced}, planLinks(job.schedule, job.plan, job.mesh),
                       {job.clock, job.timeout}, team);
}

} // namespace bubblescope::runtime
