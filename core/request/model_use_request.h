#pragma once

#include "core/analysis/model_use.h"
#include "core/base/result.h"
#include "core/request/plan_request.h"

#include <optional>
#include <string>

namespace bubblescope {

/// The user's description of the model that a run trains, and of its devices.
struct ModelUseRequest {
    ModelRequest model;
    int global_batch = 0;
    std::string device;
    std::optional<double> teraflops; ///< peak of a device
    std::optional<int> devices;

    /// Empty without a model. Errors: Usage.
    [[nodiscard]] Result<std::optional<TrainedModel>> trained() const;
    [[nodiscard]] Result<std::optional<ModelUse>> use(const Run& run) const;
};

} // namespace bubblescope
