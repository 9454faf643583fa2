#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace bubblescope {

/// Prefix of counter names for reserved memory: the bytes that a process has allocated from CUDA and not yet released.
/// PyTorch's caching allocator keeps released tensors' memory, so reserved memory can exceed memory in use.
inline constexpr std::string_view kReservedMemory = "reserved memory";

/// "reserved memory", or "reserved memory (device 1)".
[[nodiscard]] inline std::string reservedMemoryName(std::int64_t device) {
    std::string name(kReservedMemory);
    return device == 0 ? name : name + " (device " + std::to_string(device) + ")";
}

/// The reserved memory of a process per device, from its allocations and releases in order of time. Not thread-safe.
class ReservedMemory {
public:
    struct Change {
        std::int64_t device = 0;
        std::uint64_t bytes = 0; ///< reserved after the change
    };

    /// If the address is already allocated, its release was lost, so that allocation ends here.
    Change allocate(std::uint64_t address, std::int64_t device, std::uint64_t bytes) {
        (void)release(address);
        live_[address] = {device, bytes};
        return {device, reserved_[device] += bytes};
    }
    /// None if the address is not allocated.
    std::optional<Change> release(std::uint64_t address) {
        const auto found = live_.find(address);
        if (found == live_.end()) return std::nullopt;
        const Change freed = found->second;
        live_.erase(found);
        return Change{freed.device, reserved_[freed.device] -= freed.bytes};
    }
    /// Reserved bytes by device.
    [[nodiscard]] const std::map<std::int64_t, std::uint64_t>& byDevice() const { return reserved_; }

private:
    std::unordered_map<std::uint64_t, Change> live_; ///< device and size of each allocation, by address
    std::map<std::int64_t, std::uint64_t> reserved_;
};

} // namespace bubblescope
