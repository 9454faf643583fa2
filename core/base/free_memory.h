#pragma once

namespace bubblescope {

/// Returns freed memory to the system, because the C library otherwise retains part of this memory for the thread that
/// freed it. Call between two large pieces of work; a call takes a few milliseconds per gigabyte. Does nothing if the C
/// library has no such function.
void returnFreeMemory();

} // namespace bubblescope
