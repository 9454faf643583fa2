#pragma once

#include "core/base/result.h"
#include "core/optimize/overlap/operators.h"

#include <string>

namespace bubblescope {

/// What a device and the links between the tensor-parallel ranks do in a second, in practice and not by their data
/// sheets.
struct DeviceSpeed {
    double flops = 500e12;         ///< of matrix products in 16 bits
    double memory_bytes = 2.5e12;  ///< that element-wise ops read and write
    double reduce_bytes = 150e9;   ///< of an all-reduce's buffer
    double reduce_latency = 20e-6; ///< seconds that each all-reduce takes besides
};

/// Operators of one layer of a known model, for users who have measured none: matrix products by their FLOPs,
/// element-wise ops by the bytes that they move, an all-reduce of the layer's output after attention and after the MLP,
/// forward and backward. `layers`: of a stage. The defaults are about those of an H100 with NVLink. Errors: Usage, for
/// unknown models and for tensor ranks that do not divide their heads.
[[nodiscard]] Result<overlap::OpCosts> modelOpCosts(const std::string& preset, int tensor_ranks, int layers,
                                                    const DeviceSpeed& speed = {});

} // namespace bubblescope
