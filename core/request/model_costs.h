#pragma once

#include "core/base/result.h"
#include "core/optimize/overlap/operators.h"

#include <string>

namespace bubblescope {

/// Achieved (not peak) speeds of a device and of the links between tensor-parallel ranks, per second.
struct DeviceSpeed {
    double flops = 500e12;         ///< FLOPs of 16-bit matrix products
    double memory_bytes = 2.5e12;  ///< bytes read and written by element-wise ops
    double reduce_bytes = 150e9;   ///< bytes of an all-reduce's buffer
    double reduce_latency = 20e-6; ///< additional seconds per all-reduce
};

/// Operators of one layer of a known model, for users who have not measured any: matrix products by their FLOPs,
/// element-wise ops by the bytes that they move, an all-reduce of the layer's output after attention and after the MLP,
/// forward and backward. `layers` is the number per stage. The defaults are roughly those of an H100 with NVLink.
/// Errors: Usage for unknown models and for tensor ranks that do not divide their heads.
[[nodiscard]] Result<overlap::OpCosts> modelOpCosts(const std::string& preset, int tensor_ranks, int layers,
                                                    const DeviceSpeed& speed = {});

} // namespace bubblescope
