#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace bubblescope {

class LoadSketch;

/// What a long core function shares with whoever started it: it reads `stop` and raises the counters.
/// One writer (the job), any number of readers. A default-constructed control never stops. A job that was asked to stop
/// does so within 100 ms and returns no result but Cancelled, however close to its end it was.
struct JobControl {
    std::stop_token stop;
    std::atomic<std::uint64_t> done{0};  ///< units of work finished (bytes, for loads)
    std::atomic<std::uint64_t> total{0}; ///< 0 while unknown

    /// Where a load of traces leaves a first picture while it runs, if set.
    LoadSketch* sketch = nullptr;

    /// Called, if set, from any thread of the job, whenever that looks whether to stop: lets tests stop it anywhere.
    std::function<void()> at_check;

    [[nodiscard]] bool stopRequested() const {
        if (at_check) at_check();
        return stop.stop_requested();
    }
};

} // namespace bubblescope
