#include "runtime/comm/inproc/step_barrier.h"

#include <algorithm>

namespace bubblescope::runtime {

std::optional<TimeNs> StepBarrier::meet(TimeNs time) {
    std::unique_lock lock(mutex_);
    if (aborted_) return std::nullopt;
    latest_ = std::max(latest_, time);
    if (++arrived_ == ranks_) {
        result_ = latest_;
        latest_ = TimeNs::min();
        arrived_ = 0;
        ++round_;
        complete_.notify_all();
        return result_;
    }
    // The next round cannot end before this rank has joined it, so result_ is still this round's.
    complete_.wait(lock, [&, round = round_] { return aborted_ || round_ != round; });
    if (aborted_) return std::nullopt;
    return result_;
}

void StepBarrier::abort() {
    {
        const std::lock_guard lock(mutex_);
        aborted_ = true;
    }
    complete_.notify_all();
}

} // namespace bubblescope::runtime
