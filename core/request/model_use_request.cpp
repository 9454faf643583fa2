#include "core/request/model_use_request.h"

#include <algorithm>
#include <cstddef>

namespace bubblescope {

Result<std::optional<TrainedModel>> ModelUseRequest::trained() const {
    const bool other = global_batch > 0 || !device.empty() || teraflops || devices;
    if (!model.given() && other)
        return usageError("MFU needs the model",
                          "use a known model, or specify its layers, hidden size, heads and sequence length");
    if (!model.given()) return std::optional<TrainedModel>{};
    TrainedModel made;
    BUBBLESCOPE_ASSIGN(made.shape, model.shape());
    if (global_batch < 1) return usageError("MFU needs the global batch, in sequences");
    made.global_batch = global_batch;
    made.device = device;
    if (teraflops) made.peak = *teraflops * 1e12;
    made.devices = devices;
    return std::optional(std::move(made));
}

Result<std::optional<ModelUse>> ModelUseRequest::use(const Run& run) const {
    BUBBLESCOPE_ASSIGN(const std::optional<TrainedModel> known, trained());
    if (!known) return std::optional<ModelUse>{};
    BUBBLESCOPE_ASSIGN(ModelUse found, modelUse(run, *known));
    return std::optional(std::move(found));
}

Result<std::optional<ModelUse>> ModelUseRequest::use(const Run& run, const std::vector<FileActivity>& files) const {
    if (model.given() && !typicalStep(files)) return usageError("MFU needs steps, and this trace has none");
    std::size_t recorded = 0;
    for (const FileActivity& file : files)
        recorded += file.devices.size();
    ModelUseRequest counted = *this;
    if (model.given() && !devices) counted.devices = static_cast<int>(std::max<std::size_t>(1, recorded));
    return counted.use(run);
}

} // namespace bubblescope
