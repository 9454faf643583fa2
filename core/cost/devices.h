#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {

/// An accelerator and its usual host machine. Rates are per device and per second; for links, per direction.
struct DeviceSpec {
    std::string name;             ///< "h100"
    std::string title;            ///< "NVIDIA H100 SXM"
    double flops = 0;             ///< FLOPs per second in dense 16-bit matrix products, from the data sheet
    double flops_fp8 = 0;         ///< for 8-bit floating point; 0 if unsupported
    double product_share = 0;     ///< share of `flops` that large matrix products reach at best
    double product_share_fp8 = 0; ///< share of `flops_fp8`
    std::int64_t memory = 0;      ///< bytes
    double memory_rate = 0;       ///< bytes per second
    double link = 0;              ///< bytes per second, total of the links to all other devices of the host
    double network = 0;           ///< bytes per second to other hosts
    int per_host = 8;
    bool measured = true; ///< true if `product_share` was measured on this device; false if assumed from similar ones
};

/// Well-known devices, oldest first; devices.cpp lists the sources.
[[nodiscard]] std::span<const DeviceSpec> knownDevices();
[[nodiscard]] std::vector<std::string> deviceNames();

/// Finds a device by name, ignoring case, '-' and '_'. Errors: Usage; the message lists the known devices.
[[nodiscard]] Result<DeviceSpec> deviceNamed(std::string_view name);

/// Finds a device by its name in a trace, such as "NVIDIA H100 80GB HBM3". None if the name is unknown or could mean
/// several devices that differ in `flops`, such as an H100 on PCIe.
[[nodiscard]] std::optional<DeviceSpec> deviceOfTrace(std::string_view name);

} // namespace bubblescope
