#pragma once

#include "core/base/ids.h"
#include "core/base/time.h"

#include <array>
#include <cstddef>
#include <string>

namespace bubblescope::runtime {

/// Bytes from one rank to another, beside what a pipeline sends: nobody waits for them in a step, and they are never
/// taken for a tensor. From one sender they arrive in order.
struct Mail {
    Rank peer; ///< of what is posted the receiver, of what is taken the sender
    std::string bytes;
    std::array<TimeNs, 2> times{}; ///< translated between clocks, as all times of a transport
};

/// Whoever posts keeps to it.
inline constexpr std::size_t kLargestMail = std::size_t{256} << 20U;

} // namespace bubblescope::runtime
