#pragma once

#include "core/base/job.h"
#include "core/base/progress_estimate.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace bubblescope::cli {

/// What a job counts in JobControl::done.
enum class WorkUnit { Bytes, Ops, Nothing };

/// "Loading: 312 of 1024 MB, 104 MB/s, about 7 s left"; of work that counts nothing, how long it has been running.
[[nodiscard]] std::string progressText(const std::string& what, WorkUnit unit, const ProgressEstimate& estimate,
                                       TimeNs passed);

/// While it lives, shows on a terminal's stderr how far a job is, at which rate it goes and how long it will take, once
/// it takes longer than a moment. Shows nothing where stderr is no terminal, and leaves nothing behind.
class ProgressWatch {
public:
    ProgressWatch(const JobControl& control, std::string what, WorkUnit unit);

private:
    std::mutex mutex_;
    std::condition_variable_any ended_;
    std::jthread thread_; ///< last, so that it ends first
};

/// What `work` returns, watched while it runs.
template <class Work>
auto watchWork(const JobControl& control, std::string what, WorkUnit unit, const Work& work) {
    const ProgressWatch watch(control, std::move(what), unit);
    return work();
}

template <class Work>
auto watchLoad(const JobControl& control, const Work& work) {
    return watchWork(control, "Loading", WorkUnit::Bytes, work);
}

/// Work of which only the time is known.
template <class Work>
auto watchTime(std::string what, const Work& work) {
    const JobControl nothing;
    return watchWork(nothing, std::move(what), WorkUnit::Nothing, work);
}

} // namespace bubblescope::cli
