#pragma once

#include "core/base/time.h"

#include <cstdint>
#include <map>
#include <span>

namespace bubblescope::profiler {

/// Time during which threads of this process were ready to run but waited for a core, as counted by the kernel
/// (/proc/self/task/TID/schedstat). Not thread-safe.
class RunQueue {
public:
    /// The longest wait of any of these threads since the last call; 0 at the first call, or if the kernel does not
    /// count waits.
    [[nodiscard]] TimeNs waitedSince(std::span<const std::uint32_t> threads);

private:
    std::map<std::uint32_t, std::int64_t> waited_; ///< total per thread
};

/// Returns the second of the three numbers in schedstat, or 0 if it is missing.
[[nodiscard]] std::int64_t runQueueWait(std::uint32_t thread);

} // namespace bubblescope::profiler
