#pragma once

#include "core/base/result.h"
#include "core/base/wire.h"
#include "runtime/accelerator/accelerator.h"
#include "runtime/model/compute_queue.h"
#include "runtime/model/layer_watch.h"
#include "runtime/model/model_config.h"
#include "runtime/model/stage_model.h"

#include <memory>

namespace bubblescope::runtime {

/// The CPU as an accelerator. The calling thread does all work before the call returns, so there is nothing to wait
/// for. Device memory is host memory. One object serves all ranks of a process. Results depend only on values and
/// shapes.
[[nodiscard]] const std::shared_ptr<Accelerator>& cpuDevice();

/// A queue that computes on the CPU in the calling thread. The queue's tensors are on the host.
[[nodiscard]] std::shared_ptr<ComputeQueue> makeCpuQueue();

/// A stage of the GPT on the CPU, with a separate queue.
[[nodiscard]] std::unique_ptr<StageModel> makeCpuStage(const ModelConfig& model, StageTask task);

/// Unpacks a part of a layer that another process packed with ReexecutableLayer::pack(), to execute it on the CPU.
/// Error: Input if the bytes are not an executable layer.
[[nodiscard]] Result<std::unique_ptr<ReexecutableLayer>> unpackLayer(WireReader& wire);

} // namespace bubblescope::runtime
