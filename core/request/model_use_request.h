#pragma once

#include "core/analysis/devices/device_summary.h"
#include "core/analysis/model_use.h"
#include "core/base/result.h"
#include "core/request/model_request.h"

#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// The user's description of the model trained by a run, and of its devices.
struct ModelUseRequest {
    ModelRequest model;
    int global_batch = 0;
    std::string device;
    std::optional<double> teraflops; ///< peak rate of a device
    std::optional<int> devices;

    /// Empty if no model is specified. Errors: Usage.
    [[nodiscard]] Result<std::optional<TrainedModel>> trained() const;
    [[nodiscard]] Result<std::optional<ModelUse>> use(const Run& run) const;
    /// For a trace without a pipeline; its devices and steps are in `files`. Errors: Usage, also if there are no steps.
    [[nodiscard]] Result<std::optional<ModelUse>> use(const Run& run, const std::vector<FileActivity>& files) const;

    friend bool operator==(const ModelUseRequest&, const ModelUseRequest&) = default;
};

} // namespace bubblescope
