#include "core/cost/devices.h"

#include "core/base/suggestion.h"
#include "core/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bubblescope {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30U;

// Peaks are from the vendors' data sheets, without sparsity, as in torchtitan's get_peak_flops() and in the comparison
// table of stas00/ml-engineering (compute/accelerator). Memory sizes and bandwidths are from the same data sheets.
//
// Share that products reach: "maximum achievable matmul FLOPS", measured by stas00/ml-engineering: A100 271 of 312,
// H100 794 of 989 (FP8: 1403 of 1979), MI250X 147 of 191.5 on one die, MI300X 782 of 1300, MI325X 785 of 1300. The H200
// has the same die as the H100. If nothing was measured, the predecessor's share is assumed.
//
// The H100 with HBM2e in Meta's Grand Teton is limited to 500 W instead of 700 (torchtitan, benchmarks/). Its rate of
// matrix products has not been published. Training at 600 W is 10 to 15 % slower (factryze.ai, "Power capping"): 1/8
// per 100 W, so the H100's shares times 0.75 are assumed.
//
// Links: NVLink 3, 4 and 5 carry 600, 900 and 1800 GB/s in both directions. An MI300X or MI325X has seven links of 64
// GB/s each way, an MI355X seven of 76.8, an Ascend 910B seven of 28. Rings of MI250X dies use links of 50. Networks:
// one adapter per device of 200 Gb/s (DGX A100, Atlas 800T A2), 400 Gb/s (DGX H100 and later, AMD's platforms), and
// four of 200 Gb/s per eight MI250X dies (Frontier).
const std::vector<DeviceSpec>& devices() {
    static const std::vector<DeviceSpec> all{
        {"a100-40gb", "NVIDIA A100 SXM 40 GB", 312e12, 0, 0.869, 0, 40 * kGiB, 1.555e12, 300e9, 25e9},
        {"a100", "NVIDIA A100 SXM 80 GB", 312e12, 0, 0.869, 0, 80 * kGiB, 2.0e12, 300e9, 25e9},
        {"mi250x", "AMD MI250X, one of its two dies", 191.5e12, 0, 0.767, 0, 64 * kGiB, 1.6e12, 50e9, 12.5e9},
        {"h100", "NVIDIA H100 SXM", 989e12, 1979e12, 0.803, 0.709, 80 * kGiB, 3.35e12, 450e9, 50e9},
        {"h100-500w", "NVIDIA H100 SXM 96 GB, limited to 500 W", 989e12, 1979e12, 0.602, 0.532, 96 * kGiB, 2.4e12,
         450e9, 50e9, 8, false},
        {"h200", "NVIDIA H200 SXM", 989e12, 1979e12, 0.803, 0.709, 141 * kGiB, 4.8e12, 450e9, 50e9},
        {"b200", "NVIDIA B200 SXM", 2250e12, 4500e12, 0.803, 0.709, 180 * kGiB, 8.0e12, 900e9, 50e9, 8, false},
        {"mi300x", "AMD MI300X", 1307e12, 2614e12, 0.598, 0.598, 192 * kGiB, 5.3e12, 448e9, 50e9},
        {"mi325x", "AMD MI325X", 1307e12, 2614e12, 0.600, 0.600, 256 * kGiB, 6.0e12, 448e9, 50e9},
        {"mi355x", "AMD MI355X", 2500e12, 5000e12, 0.600, 0.600, 288 * kGiB, 8.0e12, 537.6e9, 50e9, 8, false},
        {"ascend-910b", "Ascend 910B2", 353.9e12, 0, 0.75, 0, 64 * kGiB, 1.6e12, 196e9, 25e9, 8, false},
    };
    return all;
}

/// A fragment of a device's name in traces, and the device; the first fragment found counts. An empty device means that
/// several devices share the fragment.
struct TraceName {
    std::string_view part;
    std::string_view device;
};
constexpr TraceName kTraceNames[] = {
    {"a100 80gb pcie", "a100"}, {"a100-pcie", "a100"}, {"a100", "a100"},
    {"h100 pcie", ""},          {"h100 nvl", ""},      {"h100", "h100"},
    {"gh200", "h100"},          {"h200", "h200"},      {"gb200", ""},
    {"b200", "b200"},           {"mi250x", "mi250x"},  {"mi300x", "mi300x"},
    {"mi325x", "mi325x"},       {"mi355x", "mi355x"},  {"910b2", "ascend-910b"},
};

} // namespace

std::span<const DeviceSpec> knownDevices() {
    return devices();
}

std::vector<std::string> deviceNames() {
    std::vector<std::string> names;
    for (const DeviceSpec& device : devices())
        names.push_back(device.name);
    return names;
}

Result<DeviceSpec> deviceNamed(std::string_view name) {
    const std::string plain = plainName(name);
    for (const DeviceSpec& device : devices())
        if (plainName(device.name) == plain) return device;
    if (plain == plainName("a100-80gb")) return deviceNamed("a100");
    const std::vector<std::string> names = deviceNames();
    return usageError(fmt::format("unknown device '{}'{}", name, didYouMean(name, names)),
                      fmt::format("known: {}", fmt::join(names, ", ")));
}

std::optional<DeviceSpec> deviceOfTrace(std::string_view name) {
    const std::string lower = lowerCase(name);
    for (const TraceName& known : kTraceNames) {
        if (lower.find(known.part) == std::string::npos) continue;
        if (known.device.empty()) return {};
        return deviceNamed(known.device).value();
    }
    return {};
}

} // namespace bubblescope
