#pragma once

#include "core/base/job.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace bubblescope::cli {

/// While it lives, tells on a terminal's stderr how far a load is and how long it will take, once it takes longer than
/// a moment. Says nothing where stderr is no terminal, and leaves nothing behind.
class LoadWatch {
public:
    explicit LoadWatch(const JobControl& control);

private:
    std::mutex mutex_;
    std::condition_variable_any ended_;
    std::jthread thread_; ///< last, so that it ends first
};

/// What `work` returns, watched while it runs.
template <class Work>
auto watchLoad(const JobControl& control, const Work& work) {
    const LoadWatch watch(control);
    return work();
}

} // namespace bubblescope::cli
