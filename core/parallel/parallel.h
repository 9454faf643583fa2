#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>

namespace bubblescope {

// Work on all cores, by oneTBB's threads, which are started once and shared by the whole program. Calls may nest.

namespace detail {

/// Calls `work(i)` for each i below `count` until one returns false; then this does so too.
[[nodiscard]] bool parallelFor(std::size_t count, const std::function<bool(std::size_t)>& work);

} // namespace detail

/// Calls `work(i)` for each i below `count` on all cores, the calling thread included, and returns when all calls have
/// ended. They begin in ascending order, so put the longest first. If `work` returns bool, false stops it: no further
/// calls begin, and this returns false. An exception of `work` stops it likewise and is rethrown here.
template <class Work>
auto parallelFor(std::size_t count, const Work& work) {
    if constexpr (std::is_void_v<std::invoke_result_t<const Work&, std::size_t>>) {
        (void)detail::parallelFor(count, [&work](std::size_t i) {
            work(i);
            return true;
        });
    } else {
        return detail::parallelFor(count, std::cref(work));
    }
}

} // namespace bubblescope
