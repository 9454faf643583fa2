#pragma once

#include "core/base/time.h"

#include <array>
#include <cstddef>

namespace bubblescope {

/// a + b for non-negative times, capped at the largest representable time, because sums over slices of a malicious file
/// can exceed it.
[[nodiscard]] TimeNs boundedSum(TimeNs a, TimeNs b);

/// The time of a device, by the combination of classes of work that ran at the same time.
struct DeviceTimes {
    static constexpr std::size_t kCompute = 1;
    static constexpr std::size_t kCommunication = 2;
    static constexpr std::size_t kMemory = 4;
    /// Indexed by the bitwise OR of the running classes; 0 is idle. The times add up to the device's span.
    std::array<TimeNs, 8> by_mix{};

    /// Time in which at least one of `classes` and none of `without` ran.
    [[nodiscard]] TimeNs with(std::size_t classes, std::size_t without = 0) const;
    [[nodiscard]] TimeNs compute() const { return with(kCompute); }
    [[nodiscard]] TimeNs communication() const { return with(kCommunication); }
    [[nodiscard]] TimeNs memory() const { return with(kMemory); }
    [[nodiscard]] TimeNs exposedCommunication() const { return with(kCommunication, kCompute); }
    [[nodiscard]] TimeNs hiddenCommunication() const { return communication() - exposedCommunication(); }
    /// Time of copies and memsets while nothing else ran.
    [[nodiscard]] TimeNs exposedMemory() const { return with(kMemory, kCompute | kCommunication); }
    [[nodiscard]] TimeNs idle() const { return by_mix[0]; }
    [[nodiscard]] TimeNs span() const;
};

template <class Wire>
void fields(Wire& wire, DeviceTimes& value) {
    for (TimeNs& time : value.by_mix)
        wire.duration(time);
}

} // namespace bubblescope
