#pragma once

#include "runtime/device/rank_device.h"
#include "runtime/model/data_plan.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <memory>
#include <string_view>

namespace bubblescope::runtime {

/// Where ranks compute, if not on the host. Thread-safe; failures are exceptions.
class Backend {
public:
    virtual ~Backend() = default;

    /// As --backend and the trace name it.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// The device of one more rank, for the thread that calls.
    [[nodiscard]] virtual std::shared_ptr<RankDevice> openRank() = 0;
    /// A stage of the rank that has this device.
    [[nodiscard]] virtual std::unique_ptr<StageModel> makeStage(RankDevice& device, const ModelConfig& model,
                                                                StageTask task) = 0;
};

} // namespace bubblescope::runtime
