#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Runs kernels on the host in an order that a GPU may use: blocks one after the other, and the threads of a block as
/// fibers that switch at barriers. Detects threads that depend on each other between barriers.
namespace cuda_shim {

/// Order in which blocks, and the fibers of a block, run. A GPU does not guarantee any order.
enum class Turns { Ascending, Descending, Shuffled };

/// Memory that all blocks share. Other memory with a fixed address belongs to the running block.
struct GlobalMemory {
    const void* begin;
    std::size_t bytes;
};

struct Options {
    Turns turns = Turns::Ascending;
    unsigned seed = 1; ///< seed for Shuffled
    std::vector<GlobalMemory> memory;
};

/// Sets the options for later launches by the calling thread.
void use(Options options);

/// Errors in the launches of the calling thread since the last call, one sentence each: two threads that access the
/// same memory without a barrier in between, at least one of them to write; a barrier or an exchange that not all
/// threads reach.
[[nodiscard]] std::vector<std::string> takeFaults();

/// Number of blocks and threads of the last launch.
struct Shape {
    unsigned blocks = 0;
    unsigned threads = 0;
};
[[nodiscard]] Shape lastShape();

// Functions that the replacement for CUDA's header calls.

/// `enter` makes a thread the running thread, before it starts and each time it continues. `run` is the kernel.
void launch(unsigned blocks, unsigned threads, const std::function<void(unsigned block, unsigned thread)>& enter,
            const std::function<void()>& run);
void awaitBlock();
[[nodiscard]] unsigned exchangeInWarp(unsigned mask, unsigned value, int distance);
/// Returns one bit per thread of the warp.
[[nodiscard]] unsigned voteInWarp(unsigned mask, bool vote);
/// sum += left · right for the elements of this lane. The matrices of 16-bit numbers are distributed over the lanes of
/// a warp as in mma.m16n8k16. Sums over the inner index in ascending order.
void addProductInWarp(float (&sum)[4], const unsigned (&left)[4], unsigned right, unsigned right_below);
/// Lets the other fibers continue.
void pass();
/// A nanosecond counter that increases with every call.
[[nodiscard]] std::uint64_t globalTimer();

} // namespace cuda_shim
