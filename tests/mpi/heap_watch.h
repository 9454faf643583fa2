#pragma once

#include <cstdint>

namespace bubblescope::test {

/// The memory that the program and its libraries have allocated and not freed, and its maximum since watchHeap(). The
/// program's allocation functions are in heap_watch.cpp. 0 where it cannot be known.
[[nodiscard]] std::int64_t heapBytes();
[[nodiscard]] std::int64_t heapPeak();
void watchHeap();

} // namespace bubblescope::test
