#pragma once

// Replaces CUDA's header of this name when kernels are compiled for the host. Contains only the parts of the language
// and runtime that runtime/backend/cuda/kernels.cu uses. Threads of a block are fibers; see launch.h.

#include "tests/support/cuda_shim/launch.h"

#include <tuple>

// Inlines all calls, so that every memory access is in instrumented code.
#define __global__ __attribute__((flatten))
#define __device__
#define __host__
#define __launch_bounds__(threads)
// Possible because blocks run one after the other.
#define __shared__ static

struct dim3 {
    unsigned x;
    unsigned y;
    unsigned z;
    constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1) : x(x_size), y(y_size), z(z_size) {}
};

using cudaStream_t = struct CudaShimStream*;
enum cudaError_t { cudaSuccess = 0 };
struct cudaFuncAttributes {};
struct cudaLaunchConfig_t {
    dim3 gridDim;
    dim3 blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
};

// Position of the running fiber.
inline thread_local dim3 gridDim;
inline thread_local dim3 blockDim;
inline thread_local dim3 blockIdx;
inline thread_local dim3 threadIdx;

inline void __syncthreads() {
    cuda_shim::awaitBlock();
}

inline unsigned __shfl_xor_sync(unsigned mask, unsigned value, int distance) {
    return cuda_shim::exchangeInWarp(mask, value, distance);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return cuda_shim::voteInWarp(mask, predicate != 0);
}

inline int __popc(unsigned bits) {
    return __builtin_popcount(bits);
}

inline void __nanosleep(unsigned /*nanoseconds*/) {
    cuda_shim::pass();
}

template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, Kernel*) {
    return cudaSuccess;
}

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               const Arguments&... arguments) {
    const std::tuple<Parameters...> values(arguments...);
    const dim3 blocks = config->gridDim;
    const dim3 threads = config->blockDim;
    gridDim = blocks;
    blockDim = threads;
    cuda_shim::launch(
        blocks.x, threads.x * threads.y,
        [&](unsigned block, unsigned thread) {
            // Set again each time a fiber continues; see cuda_shim::launch().
            blockIdx = dim3(block);
            threadIdx = dim3(thread % threads.x, thread / threads.x);
        },
        [&] { std::apply(kernel, values); });
    return cudaSuccess;
}
