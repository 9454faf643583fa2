#pragma once

#include "core/recognise/trace_share.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

// What finding launch-bound stages asks of the shares of a trace (see trace_share.h).
namespace bubblescope {

/// Whether a share's files may hold kernels: what follows is only asked if one's do.
struct Kernels {
    bool any = false;
};
struct HasKernels {
    static constexpr std::string_view kName = "has kernels";
    using Answer = Kernels;
    [[nodiscard]] Result<Answer> answer(TraceShare& share) const;
};

/// What a file's devices ran within a time.
struct DeviceUse {
    TimeNs busy{0};
    std::size_t stretches = 0; ///< of busy time
};

struct DeviceUseIn {
    static constexpr std::string_view kName = "device use";
    using Answer = std::map<std::uint32_t, std::vector<DeviceUse>>;      ///< by file, of those that have kernels
    std::map<std::uint32_t, std::vector<std::pair<TimeNs, TimeNs>>> ops; ///< begin and end, by file

    [[nodiscard]] Result<Answer> answer(TraceShare& share) const;
};

template <class Wire>
void fields(Wire&, HasKernels&) {}
template <class Wire>
void fields(Wire& wire, Kernels& value) {
    auto& [any] = value;
    wire(any);
}
template <class Wire>
void fields(Wire& wire, DeviceUse& value) {
    auto& [busy, stretches] = value;
    wire(busy, stretches);
}
template <class Wire>
void fields(Wire& wire, DeviceUseIn& value) {
    auto& [ops] = value;
    wire(ops);
}

} // namespace bubblescope
