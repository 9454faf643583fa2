#pragma once

namespace cuda_shim {

// Kernels with the faults that the tests must detect.

/// Every thread writes the same number.
void writeAllToOne(int* value, unsigned blocks, unsigned threads);
/// Reverses the order of numbers twice in shared memory, with or without the required barriers: between writing and
/// reading, and before writing the memory again.
void reverseInShared(int* values, unsigned threads, bool before_reading, bool before_writing);
/// Launches a grid of this shape, whose kernel does nothing.
void launchNothing(unsigned blocks, unsigned threads);
/// Half of the threads return before the barrier.
void divergentBarrier(unsigned threads);

} // namespace cuda_shim
