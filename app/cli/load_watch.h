#pragma once

#include "core/base/job.h"
#include "core/base/progress_estimate.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace bubblescope::cli {

/// Unit of JobControl::done.
enum class WorkUnit { Bytes, Ops, Nothing };

/// Text such as "Loading: 312 of 1024 MB, 104 MB/s, about 7 s left"; only the elapsed time if `unit` is Nothing.
[[nodiscard]] std::string progressText(const std::string& what, WorkUnit unit, const ProgressEstimate& estimate,
                                       TimeNs passed);

/// After a short delay, shows the progress, rate and remaining time of a job on stderr while the object exists. The
/// line is removed at the end. Shows nothing if stderr is not a terminal.
class ProgressWatch {
public:
    ProgressWatch(const JobControl& control, std::string what, WorkUnit unit);

private:
    std::mutex mutex_;
    std::condition_variable_any ended_;
    std::jthread thread_; ///< last, so that it is destroyed first
};

/// Runs `work`, shows its progress, and returns its result.
template <class Work>
auto watchWork(const JobControl& control, std::string what, WorkUnit unit, const Work& work) {
    const ProgressWatch watch(control, std::move(what), unit);
    return work();
}

template <class Work>
auto watchLoad(const JobControl& control, const Work& work) {
    return watchWork(control, "Loading", WorkUnit::Bytes, work);
}

/// Like the previous function, for work that reports no progress: only the elapsed time is shown.
template <class Work>
auto watchTime(std::string what, const Work& work) {
    const JobControl nothing;
    return watchWork(nothing, std::move(what), WorkUnit::Nothing, work);
}

} // namespace bubblescope::cli
