#pragma once

#include <cstdint>

namespace bubblescope::test {

/// What the program has allocated and not freed, libraries included, and the most of that since watchHeap(). The
/// program's allocation functions are in heap_watch.cpp. 0 where it cannot be known.
[[nodiscard]] std::int64_t heapBytes();
[[nodiscard]] std::int64_t heapPeak();
void watchHeap();

} // namespace bubblescope::test
