#include "core/parallel/parallel.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>

namespace bubblescope::detail {

bool parallelFor(std::size_t count, const std::function<bool(std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stopped{false};
    const auto drain = [&](std::size_t) {
        try {
            for (std::size_t i = next++; i < count && !stopped; i = next++) {
                if (!work(i)) stopped = true;
            }
        } catch (...) {
            stopped = true;
            throw;
        }
    };
    const auto threads =
        std::min(count, static_cast<std::size_t>(std::max(1, oneapi::tbb::this_task_arena::max_concurrency())));
    if (threads <= 1) {
        drain(0);
    } else {
        // Isolated: a thread that waits for the others must not begin something unrelated, which may take long.
        oneapi::tbb::this_task_arena::isolate(
            [&] { oneapi::tbb::parallel_for(std::size_t{0}, threads, drain, oneapi::tbb::simple_partitioner()); });
    }
    return !stopped;
}

} // namespace bubblescope::detail
