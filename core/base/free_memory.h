#pragma once

namespace bubblescope {

/// Returns freed memory to the system; otherwise the C library keeps some of it for the thread that freed it. Call it
/// between two large pieces of work: it takes a few milliseconds per gigabyte. Does nothing if the C library has no
/// such call.
void returnFreeMemory();

} // namespace bubblescope
