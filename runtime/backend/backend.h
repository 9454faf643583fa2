#pragma once

#include "core/base/process_team.h"
#include "core/base/result.h"
#include "runtime/backend/rank_device.h"
#include "runtime/clock/host_clock.h"
#include "runtime/comm/comm_topology.h"
#include "runtime/comm/data_channel.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <memory>
#include <string>
#include <string_view>

namespace bubblescope::runtime {

/// A run whose ranks are processes, each with its own device.
struct PeerJob {
    const Schedule& schedule;
    const DataPlan& plan;
    RunMesh mesh;
    const ModelConfig& model;
    bool paced = false;
    HostClock& clock;
    TimeNs timeout{0}; ///< for all to have joined
};

/// Where ranks compute, if not on the host. Thread-safe; failures are exceptions.
class Backend {
public:
    virtual ~Backend() = default;

    /// As --backend and the trace name it.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// What names the device of this process across restarts: "GPU-3f…"; empty where nothing does.
    [[nodiscard]] virtual std::string device() const { return {}; }
    /// The device of one more rank, for the thread that calls.
    [[nodiscard]] virtual std::shared_ptr<RankDevice> openRank() = 0;
    /// A stage of the rank that has this device.
    [[nodiscard]] virtual std::unique_ptr<StageModel> makeStage(RankDevice& device, const ModelConfig& model,
                                                                StageTask task) = 0;

    /// Joins the device of this process's rank with those of the others; all processes call it together. What is
    /// referred to must outlive the channel, and so must the stages not. Errors: Usage where this backend has nothing
    /// that joins devices, Run where they cannot be joined, the same on all processes.
    [[nodiscard]] virtual Result<std::unique_ptr<DataChannel>> connect(RankDevice& device, const PeerJob& job,
                                                                       ProcessTeam& team) = 0;
};

} // namespace bubblescope::runtime
