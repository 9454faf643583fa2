#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"
#include "runtime/backend/rank_queue.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/channels.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::runtime {

/// A run with one process per rank, where each process has a device.
struct PeerJob {
    const Schedule& schedule;
    const DataPlan& plan;
    RunMesh mesh;
    const ModelConfig& model;
    bool paced = false;
    HostClock& clock;
    TimeNs timeout{0}; ///< time limit for all processes to connect
};

/// Connects a rank's device to the devices of the other processes; see Backend::connect(). `activations` is the storage
/// of transferred activations.
using DeviceConnector = std::function<Result<std::unique_ptr<DataChannel>>(
    const std::shared_ptr<RankQueue>& queue, Storage activations, const PeerJob& job, ProcessTeam& team)>;

/// Size of a device's memory, and size of the values in that memory.
struct DeviceMemory {
    std::int64_t bytes = 0;
    int value_bytes = 4; ///< bytes per activation, and per weight as used in products
};

/// A device whose processors are divided among ranks. Thread-safe; failures are exceptions.
class DividedDevice {
public:
    /// `all` is the number of processors of the undivided device; the parts share the device's `time`.
    DividedDevice(std::vector<std::shared_ptr<Accelerator>> parts, int all, std::shared_ptr<DeviceTime> time)
        : parts_(std::move(parts)), all_(all), time_(std::move(time)) {}

    /// Number of processors per rank; allProcessors() returns the number for the undivided device.
    [[nodiscard]] int processors() const { return parts_.front()->processors(); }
    [[nodiscard]] int allProcessors() const { return all_; }
    /// Opens one of the parts for the calling thread's rank; each part can be opened only once.
    [[nodiscard]] std::shared_ptr<RankQueue> openRank();

private:
    std::vector<std::shared_ptr<Accelerator>> parts_;
    int all_;
    std::shared_ptr<DeviceTime> time_;
    std::mutex mutex_;
    std::size_t opened_ = 0;
};

/// The accelerator on which all ranks of this process compute, instead of the host. Thread-safe; failures are
/// exceptions.
class Backend {
public:
    /// `name` is the argument of --backend. `activations` is the storage of activations and of the weights used in
    /// products. `connector` connects the device to the devices of other processes; empty if the backend does not
    /// support that.
    Backend(std::string name, std::shared_ptr<Accelerator> device, Storage activations,
            std::shared_ptr<HostClock> clock, DeviceConnector connector = {});

    [[nodiscard]] const std::string& name() const { return name_; }
    /// The id of this process's device, which stays the same after restarts: "GPU-3f…"; empty if the device has no id.
    [[nodiscard]] std::string device() const { return device_->uuid(); }
    /// Memory of the device; nothing if the device has no separate memory or does not report the size.
    [[nodiscard]] std::optional<DeviceMemory> memory() const;
    /// True if attention over heads of this width needs no memory for scores.
    [[nodiscard]] bool fusesAttention(std::int64_t head_width) const {
        return device_->fusesAttention(activations_, head_width);
    }
    /// See Accelerator.
    [[nodiscard]] std::int64_t attentionWorkspace(const AttentionSizes& sizes) const {
        return fusesAttention(sizes.width) ? device_->attentionWorkspace(sizes) : 0;
    }
    [[nodiscard]] std::string attentionNote() const { return device_->attentionNote(); }
    /// Opens the device for one more rank, which runs on the calling thread.
    [[nodiscard]] std::shared_ptr<RankQueue> openRank();
    /// Divides the processors among this many ranks that share the device, so that no rank slows another. Error: Run,
    /// with the reason, if the device does not support that.
    [[nodiscard]] Result<std::unique_ptr<DividedDevice>> divide(int ranks);
    /// Creates a stage on the rank's device.
    [[nodiscard]] std::unique_ptr<StageModel> makeStage(RankQueue& device, const ModelConfig& model, StageTask task);

    /// Connects the device of this process's rank with the devices of the other processes, which must all call this
    /// function. Reference arguments must outlive the channel; stages must be destroyed before it. Errors, the same on
    /// all processes: Usage if this backend cannot connect devices, Run if connecting fails.
    [[nodiscard]] Result<std::unique_ptr<DataChannel>> connect(RankQueue& device, const PeerJob& job,
                                                               ProcessTeam& team);

private:
    std::string name_;
    std::shared_ptr<Accelerator> device_;
    Storage activations_;
    std::shared_ptr<HostClock> clock_;
    std::shared_ptr<DeviceTime> time_;
    DeviceConnector connector_;
};

} // namespace bubblescope::runtime
