#pragma once

#include "core/base/result.h"
#include "core/base/wire.h"
#include "runtime/model/compute_queue.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <memory>

namespace bubblescope::runtime {

/// Where a rank computes on the processor, in the thread that calls. Its tensors are on the host.
[[nodiscard]] std::shared_ptr<ComputeQueue> makeCpuQueue();

/// A stage of the GPT on the processor, with a queue of its own.
[[nodiscard]] std::unique_ptr<StageModel> makeCpuStage(const ModelConfig& model, StageTask task);

/// A part of a layer that another process has packed (LayerReplay::pack()), to be executed on the processor. Error:
/// Input, where the bytes are no layer that can be executed.
[[nodiscard]] Result<std::unique_ptr<LayerReplay>> unpackLayer(WireReader& wire);

} // namespace bubblescope::runtime
