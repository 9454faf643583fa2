#pragma once

#include "core/base/time.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace bubblescope::runtime {

/// Where all ranks meet: each brings the time on its device clock and leaves with the latest of all.
/// Thread-safe and used again and again.
class StepBarrier {
public:
    explicit StepBarrier(int ranks) : ranks_(ranks) {}

    /// Waits for all ranks; nothing when the run was aborted.
    [[nodiscard]] std::optional<TimeNs> meet(TimeNs time);

    /// Wakes the waiting ranks; from now on nobody meets.
    void abort();

private:
    std::mutex mutex_;
    std::condition_variable complete_;
    int ranks_;
    int arrived_ = 0;
    std::uint64_t round_ = 0;
    TimeNs latest_{TimeNs::min()}; ///< of those who arrived in this round
    TimeNs result_{0};             ///< of the round before
    bool aborted_ = false;
};

} // namespace bubblescope::runtime
