#pragma once

namespace bubblescope {

/// Hands the pages of memory that was freed, by whichever thread, back to the system; otherwise some of it stays with
/// this process for the thread that freed it. For between two parts of large work: it takes some milliseconds a
/// gigabyte. Does nothing where the C library has no such call.
void returnFreeMemory();

} // namespace bubblescope
