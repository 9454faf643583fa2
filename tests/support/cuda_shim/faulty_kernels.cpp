#include "tests/support/cuda_shim/faulty_kernels.h"

#include <cuda_runtime_api.h>

namespace cuda_shim {
namespace {

__global__ void writeKernel(int* value) {
    *value = 7;
}

__global__ void reverseKernel(int* values, bool before_reading, bool before_writing) {
    __shared__ int shared[64];
    const unsigned last = blockDim.x - 1;
    for (int round = 0; round < 2; ++round) {
        shared[threadIdx.x] = values[threadIdx.x];
        if (before_reading) __syncthreads();
        values[threadIdx.x] = shared[last - threadIdx.x];
        if (before_writing) __syncthreads();
    }
}

__global__ void divergentKernel() {
    if (threadIdx.x % 2 == 0) return;
    __syncthreads();
}

__global__ void emptyKernel() {}

cudaLaunchConfig_t shapeOf(unsigned blocks, unsigned threads) {
    return {dim3(blocks), dim3(threads), 0, nullptr};
}

} // namespace

void writeAllToOne(int* value, unsigned blocks, unsigned threads) {
    const cudaLaunchConfig_t shape = shapeOf(blocks, threads);
    cudaLaunchKernelEx(&shape, writeKernel, value);
}

void reverseInShared(int* values, unsigned threads, bool before_reading, bool before_writing) {
    const cudaLaunchConfig_t shape = shapeOf(1, threads);
    cudaLaunchKernelEx(&shape, reverseKernel, values, before_reading, before_writing);
}

void launchNothing(unsigned blocks, unsigned threads) {
    const cudaLaunchConfig_t shape = shapeOf(blocks, threads);
    cudaLaunchKernelEx(&shape, emptyKernel);
}

void divergentBarrier(unsigned threads) {
    const cudaLaunchConfig_t shape = shapeOf(1, threads);
    cudaLaunchKernelEx(&shape, divergentKernel);
}

} // namespace cuda_shim
