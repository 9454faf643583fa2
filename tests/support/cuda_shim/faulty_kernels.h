#pragma once

namespace cuda_shim {

// Kernels with the faults that tests look for.

/// Every thread writes the same number.
void writeAllToOne(int* value, unsigned blocks, unsigned threads);
/// Turns the order of numbers around twice through shared memory, with or without the barriers that this needs: between
/// writing and reading, and before the memory is written again.
void reverseInShared(int* values, unsigned threads, bool before_reading, bool before_writing);
/// Half of the threads leave before the barrier.
void divergentBarrier(unsigned threads);

} // namespace cuda_shim
