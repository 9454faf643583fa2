#pragma once

#include "core/base/core_count.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace bubblescope {

/// Calls `work(i)` for each i below `count` on all cores and returns when all calls have ended, as parallelFor() does.
/// The calling thread first calls `own()`, while others begin the work; then it helps them. So what only that thread
/// may do leaves no core idle. Exceptions are rethrown here.
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
        helpers.finishFirst(); // those that have not begun have nothing left to do
}

} // namespace bubblescope
