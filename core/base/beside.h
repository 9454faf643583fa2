#pragma once

#include "core/base/core_count.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace bubblescope {

/// Like parallelFor(), but the calling thread first calls `own()`, while other threads already run `work(i)`; then it
/// helps them. Use it when part of the work must stay on the calling thread but the other cores should not idle
/// meanwhile. Exceptions are rethrown here.
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
        helpers.finishFirst(); // removes tasks that have not started; no work is left for them
}

} // namespace bubblescope
