#pragma once

#include "core/base/core_count.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace bubblescope {

/// Similar to parallelFor(), but the calling thread runs `own()` first and then helps the other threads, which are
/// already running `work(i)`. Meant for work with a part that must run on the calling thread; the other cores are busy
/// meanwhile. Rethrows exceptions on the calling thread.
template <class Work, class Own>
void parallelForBeside(std::size_t count, const Work& work, const Own& own) {
    std::atomic<std::size_t> next{0};
    const auto drain = [&] {
        for (std::size_t i = next++; i < count; i = next++)
            work(i);
    };
    detail::TaskQueue helpers;
    for (std::size_t i = 0; i < std::min(count, coreCount() - 1); ++i)
        helpers.add(drain);
    own();
    drain();
    while (helpers.size() > 0)
        helpers.finishFirst(); // removes tasks that have not started, because no work is left
}

} // namespace bubblescope
