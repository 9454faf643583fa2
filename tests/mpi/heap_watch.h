#pragma once

#include <cstdint>

namespace bubblescope::test {

/// Memory that the program and its libraries have allocated and not freed, and its maximum since watchHeap(). Replaces
/// the allocation functions; see heap_watch.cpp. Both numbers are 0 if they are not available.
[[nodiscard]] std::int64_t heapBytes();
[[nodiscard]] std::int64_t heapPeak();
void watchHeap();

} // namespace bubblescope::test
