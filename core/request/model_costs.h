#pragma once

#include "core/base/result.h"
#include "core/optimize/overlap/operators.h"

#include <string>

namespace bubblescope {

/// Achieved (not peak) rates of a device, and of the links between tensor-parallel ranks, per second.
struct DeviceSpeed {
    double flops = 500e12;         ///< FLOPs of 16-bit matrix products
    double memory_bytes = 2.5e12;  ///< bytes read and written by element-wise ops
    double reduce_bytes = 150e9;   ///< bytes of all-reduce buffers
    double reduce_latency = 20e-6; ///< additional seconds per all-reduce
};

/// Operators of one layer of a known model, for users without measurements: matrix products by their FLOPs,
/// element-wise ops by the bytes that they move, and, in both passes, all-reduces of the layer's output after attention
/// and the MLP. `layers` is the number of layers per stage. The default rates are roughly those of an H100 with NVLink.
/// Errors: Usage for unknown models, and if the attention heads are not divisible by the tensor-parallel ranks.
[[nodiscard]] Result<overlap::OpCosts> modelOpCosts(const std::string& preset, int tensor_ranks, int layers,
                                                    const DeviceSpeed& speed = {});

} // namespace bubblescope
