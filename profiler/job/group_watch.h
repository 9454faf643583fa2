#pragma once

#include "core/base/descriptor.h"

#include <sys/types.h>

namespace bubblescope::profiler {

/// Distinguishes signals sent only to this process from those sent to its whole process group, which a job in it
/// receives without our help. The kernel does not report this, so another process of the group, which does nothing
/// else, reports the signals that it receives.
class GroupWatch {
public:
    /// If the process cannot be started, all signals count as sent only to this process.
    GroupWatch();
    GroupWatch(const GroupWatch&) = delete;
    GroupWatch& operator=(const GroupWatch&) = delete;
    ~GroupWatch();

    /// Whether the group received this signal, too. Waits a moment for that. Not thread-safe.
    [[nodiscard]] bool got(int signal);

private:
    pid_t pid_ = -1;
    Descriptor reports_;          ///< one byte per signal
    unsigned long long seen_ = 0; ///< one bit per signal that was reported but not asked for
};

} // namespace bubblescope::profiler
