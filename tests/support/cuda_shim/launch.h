#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Runs kernels on the host as a GPU may: blocks one after the other, the threads of a block as fibers that take turns
/// at barriers. Watches that threads do not depend on each other between barriers.
namespace cuda_shim {

/// The order in which the fibers of a block, and the blocks, take their turns. A GPU promises none.
enum class Turns { Ascending, Descending, Shuffled };

/// Memory that all blocks share; other memory with a fixed address belongs to the running block.
struct GlobalMemory {
    const void* begin;
    std::size_t bytes;
};

struct Options {
    Turns turns = Turns::Ascending;
    unsigned seed = 1; ///< for Shuffled
    std::vector<GlobalMemory> memory;
};

/// For launches of the calling thread from now on.
void use(Options options);

/// The errors in the launches of the calling thread since the last call, one sentence each: two threads that access
/// the same memory, one of them to write, with no barrier in between; a barrier or an exchange that not all threads
/// reach.
[[nodiscard]] std::vector<std::string> takeFaults();

/// The number of blocks and threads of the last launch.
struct Shape {
    unsigned blocks = 0;
    unsigned threads = 0;
};
[[nodiscard]] Shape lastShape();

// The functions that the replacement of CUDA's header calls.

/// `enter` makes a thread of a block the running one, before it starts and whenever it goes on; `run` is the kernel.
void launch(unsigned blocks, unsigned threads, const std::function<void(unsigned block, unsigned thread)>& enter,
            const std::function<void()>& run);
void awaitBlock();
[[nodiscard]] unsigned exchangeInWarp(unsigned mask, unsigned value, int distance);
/// A bit for each thread of the warp.
[[nodiscard]] unsigned voteInWarp(unsigned mask, bool vote);
/// sum += left · right for the places of the lane, of matrices of 16-bit numbers that the lanes of a warp hold as
/// mma.m16n8k16 wants them; sums over the inner index in ascending order.
void addProductInWarp(float (&sum)[4], const unsigned (&left)[4], unsigned right, unsigned right_below);
/// Lets the other fibers go on.
void pass();
/// Nanoseconds that go by with every call.
[[nodiscard]] std::uint64_t globalTimer();

} // namespace cuda_shim
