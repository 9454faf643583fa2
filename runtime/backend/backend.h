#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"
#include "runtime/backend/rank_device.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/channels.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bubblescope::runtime {

/// A run whose ranks are processes, each with a device.
struct PeerJob {
    const Schedule& schedule;
    const DataPlan& plan;
    RunMesh mesh;
    const ModelConfig& model;
    bool paced = false;
    HostClock& clock;
    TimeNs timeout{0}; ///< limit for all processes to connect
};

/// The memory of a device, and how it stores values.
struct DeviceMemory {
    std::int64_t bytes = 0;
    int value_bytes = 4; ///< of an activation, and of a weight as products read it
};

/// A device whose processors are divided among ranks. Thread-safe; failures are exceptions.
class DividedDevice {
public:
    virtual ~DividedDevice() = default;

    /// The number of processors of each rank, and of the whole device.
    [[nodiscard]] virtual int processors() const = 0;
    [[nodiscard]] virtual int allProcessors() const = 0;
    /// Opens one of the parts, for the calling thread's rank; each once.
    [[nodiscard]] virtual std::shared_ptr<RankDevice> openRank() = 0;
};

/// The place where ranks compute, other than the host. Thread-safe; failures are exceptions.
class Backend {
public:
    virtual ~Backend() = default;

    /// The name in --backend and in traces.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// An id of this process's device that survives restarts: "GPU-3f…"; empty if there is none.
    [[nodiscard]] virtual std::string device() const { return {}; }
    /// Nothing if the device has no memory of its own, or does not tell.
    [[nodiscard]] virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }
    /// Whether attention over heads of this width needs no memory for scores.
    [[nodiscard]] virtual bool fusesAttention(std::int64_t /*head_width*/) const { return false; }
    /// Opens the device for one more rank, the calling thread's.
    [[nodiscard]] virtual std::shared_ptr<RankDevice> openRank() = 0;
    /// Gives that many ranks, which share the device, processors of their own, so that each works at its own pace.
    /// Error: Run, with the reason, if the device cannot.
    [[nodiscard]] virtual Result<std::unique_ptr<DividedDevice>> divide(int /*ranks*/) {
        return runError("this backend does not divide devices");
    }
    /// Makes a stage on the rank's device.
    [[nodiscard]] virtual std::unique_ptr<StageModel> makeStage(RankDevice& device, const ModelConfig& model,
                                                                StageTask task) = 0;

    /// Connects the device of this process's rank with those of the other processes; all processes call it together.
    /// References must outlive the channel; stages must be destroyed before it. Errors, equal on all processes: Usage
    /// if this backend cannot connect devices, Run if connecting fails.
    [[nodiscard]] virtual Result<std::unique_ptr<DataChannel>> connect(RankDevice& device, const PeerJob& job,
                                                                       ProcessTeam& team) = 0;
};

} // namespace bubblescope::runtime
