#pragma once

#include "core/base/descriptor.h"

#include <sys/types.h>

namespace bubblescope::profiler {

/// Distinguishes signals that are sent to this process alone from those that are sent to its whole process group, which
/// a job in it gets without our help. The kernel does not tell; so another process of the group, which does nothing
/// else, reports the signals that it gets.
class GroupWatch {
public:
    /// Where the process cannot be started, all signals count as sent to this process alone.
    GroupWatch();
    GroupWatch(const GroupWatch&) = delete;
    GroupWatch& operator=(const GroupWatch&) = delete;
    ~GroupWatch();

    /// Whether the group got this signal, too. Waits a moment for that. One thread at a time.
    [[nodiscard]] bool got(int signal);

private:
    pid_t pid_ = -1;
    Descriptor reports_;          ///< a byte for each signal
    unsigned long long seen_ = 0; ///< a bit for each signal that was reported and not asked for
};

} // namespace bubblescope::profiler
