#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// An accelerator and the machine it usually comes in. Rates are per device and second, links in one direction.
struct DeviceSpec {
    std::string name;             ///< "h100"
    std::string title;            ///< "NVIDIA H100 SXM"
    double flops = 0;             ///< dense matrix products in 16 bits, by the data sheet
    double flops_fp8 = 0;         ///< the same in 8-bit floating point; 0 = it has none
    double product_share = 0;     ///< of `flops` that the best large products reach
    double product_share_fp8 = 0; ///< of `flops_fp8`
    std::int64_t memory = 0;      ///< bytes
    double memory_rate = 0;       ///< bytes
    double link = 0;              ///< bytes to the other devices of the host together
    double network = 0;           ///< bytes to other hosts
    int per_host = 8;
    bool measured = true; ///< `product_share` was measured on this device, not assumed from its like
};

/// Common devices, oldest first. Sources are stated in devices.cpp.
[[nodiscard]] std::span<const DeviceSpec> knownDevices();
[[nodiscard]] std::vector<std::string> deviceNames();

/// By name, regardless of case, '-' and '_'. Errors: Usage, naming those there are.
[[nodiscard]] Result<DeviceSpec> deviceNamed(std::string_view name);

/// The device that a trace calls "NVIDIA H100 80GB HBM3". None if it is unknown or could be one of several that differ
/// in `flops`, such as an H100 on PCIe.
[[nodiscard]] std::optional<DeviceSpec> deviceOfTrace(std::string_view name);

} // namespace bubblescope
