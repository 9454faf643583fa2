#pragma once

#include "core/base/descriptor.h"

#include <sys/types.h>

namespace bubblescope::profiler {

/// Distinguishes signals sent only to this process from those sent to its whole process group, which the job also
/// receives directly. The kernel does not report the difference, so a helper process in the group receives the signals
/// and reports them.
class GroupWatch {
public:
    /// If the helper cannot be started, all signals count as sent only to this process.
    GroupWatch();
    GroupWatch(const GroupWatch&) = delete;
    GroupWatch& operator=(const GroupWatch&) = delete;
    ~GroupWatch();

    /// True if the group received this signal, too. Waits a moment for the helper's report. Not thread-safe.
    [[nodiscard]] bool got(int signal);

private:
    pid_t pid_ = -1;
    Descriptor reports_;          ///< one byte per signal
    unsigned long long seen_ = 0; ///< one bit per signal that was reported before got() asked for it
};

} // namespace bubblescope::profiler
