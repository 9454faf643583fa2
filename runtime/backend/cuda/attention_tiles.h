#pragma once

#include "runtime/accelerator/kernels/attention.h"
#include "runtime/accelerator/kernels/softmax.h"
#include "runtime/backend/cuda/unroll.h"

#include <cuda_runtime_api.h>

// Each of a block's four warps has 16 or 32 rows of one head: one or two strips. The rows on the other side are loaded
// into shared memory in tiles, and a warp processes a few of them at a time. One instruction multiplies a 16 x 16
// matrix by a 16 x 8 matrix. In such a product a lane holds the following elements (PTX, matrix fragments of
// mma.m16n8k16), where g is lane / 4, t is lane % 4, and a word holds two neighbouring numbers:
//
//     left factor     words: (g, 2t) (g + 8, 2t) (g, 2t + 8) (g + 8, 2t + 8)    by row and inner index
//     right factor    words: (2t, g) (2t + 8, g)                                by inner index and column
//     product         floats: (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
//
// The results of two adjacent products, once rounded, are therefore the left factor of another product, and scores
// never leave their lane.

namespace bubblescope::runtime::tiles {

constexpr unsigned kWholeWarp = 0xFFFFFFFFU;
constexpr int kTileWarps = 4;
constexpr int kTileThreads = 32 * kTileWarps;
constexpr int kStripRows = 16;
constexpr float kLogOfE = 1.4426950408889634F; // log2(e), because powers of two are cheaper than powers of e

/// The number of rows processed at a time: as many as fit in shared memory and registers.
template <int kWidth>
constexpr int kPassing = kWidth > 64 ? 32 : 64;

/// The division of a kernel's work: the number of strips per warp, and the rows of the other side that a warp
/// takes at a time. Data read from shared memory is multiplied by every strip, so two strips halve the reads.
/// There are fewer strips or rows where registers cannot hold more. The values are the fastest measured on an
/// H200.
template <int kStripsOfWarp, int kPassingStep>
struct Division {
    static constexpr int kStrips = kStripsOfWarp;
    static constexpr int kWarpRows = kStripRows * kStrips;
    static constexpr int kBlockRows = kWarpRows * kTileWarps;
    static constexpr int kStep = kPassingStep;
};

// Each row in shared memory is followed by four unused words, so that the lanes of a warp read from different banks.
constexpr int kGap = 4;

/// Rows of a tile as stored in memory: pairs of features.
template <int kWidth>
struct alignas(16) TileOfRows {
    static constexpr int kStride = kWidth / 2 + kGap;
    unsigned pairs[kPassing<kWidth> * kStride];
};

/// Two 16-bit numbers that are read and written together, regardless of the type of the memory.
using TwoNumbers = unsigned __attribute__((may_alias));

__device__ inline unsigned wordAt(const Bf16* from) {
    return *reinterpret_cast<const TwoNumbers*>(from);
}

/// Two adjacent numbers, rounded as in store().
__device__ inline unsigned pairOf(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned pair = 0;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    Bf16 first{};
    Bf16 second{};
    store(first, low);
    store(second, high);
    return first.bits | static_cast<unsigned>(second.bits) << 16U;
#endif
}

/// 2^x, which is rounded to 16 bits afterwards. GPUs use the hardware instruction, with an error of at most 2^-22, and
/// return 0 for negligible results.
__device__ inline float powerOfTwo(float x) {
#ifdef __CUDA_ARCH__
    float power = 0;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#else
    return elementaryExp(x * 0.6931471805599453F);
#endif
}

/// sum += left · right, for the elements that the lane holds.
__device__ inline void addProduct(float (&sum)[4], const unsigned (&left)[4], unsigned right, unsigned right_below) {
#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right), "r"(right_below));
#endif // never used on older GPUs
#else
    cuda_shim::addProductInWarp(sum, left, right, right_below);
#endif
}

__device__ inline float fromNeighbour(float value, int distance) {
    return floatOf(__shfl_xor_sync(kWholeWarp, bitsOf(value), distance));
}

/// The sum over the four lanes that share a row.
__device__ inline float sumOfRow(float value) {
    value += fromNeighbour(value, 1);
    return value + fromNeighbour(value, 2);
}

/// Ignores NaN, which reaches the result through the sum of weights anyway.
__device__ inline float largestOfRow(float value) {
    value = fmaxf(fromNeighbour(value, 1), value);
    return fmaxf(fromNeighbour(value, 2), value);
}

/// The rows and features of a block that one thread handles.
struct TilePlace {
    int thread;
    int warp;
    int g;
    int t;

    __device__ TilePlace()
        : thread(static_cast<int>(threadIdx.x)), warp(thread / 32), g(thread % 32 / 4), t(thread % 4) {}
};

/// The rows of one head of one sequence.
template <class T>
__device__ T* headOf(const HeadRows<T>& rows, const AttentionSizes& sizes, std::int64_t pair) {
    return rows.data + pair / sizes.heads * rows.sequence + pair % sizes.heads * sizes.width;
}

/// The rows of a block, and the part of them that belongs to a warp. An int is sufficient to count the rows of a
/// sequence.
struct OwnRows {
    int pair;   ///< sequence and head
    int block;  ///< first row of the block
    int first;  ///< first row of the warp
    int inside; ///< number of existing rows starting at `first`

    /// For `count` rows of a sequence. For every head, the blocks with the most work come first (the last queries or
    /// the first keys), so that no long block is left for the end of the launch.
    template <class OfKernel>
    __device__ OwnRows(OfKernel /*division*/, const AttentionSizes& sizes, std::int64_t count, bool last_first,
                       const TilePlace& place) {
        const unsigned pairs = static_cast<unsigned>(sizes.sequences) * static_cast<unsigned>(sizes.heads);
        const unsigned number = (last_first ? gridDim.x - 1 - blockIdx.x : blockIdx.x) / pairs;
        pair = static_cast<int>(blockIdx.x % pairs);
        block = static_cast<int>(number) * OfKernel::kBlockRows;
        first = block + place.warp * OfKernel::kWarpRows;
        inside = static_cast<int>(count) - first;
    }
};

/// The left factor of a warp: its rows, with zeros after the last row.
template <int kWidth, int kStrips>
__device__ void takeLeft(unsigned (&left)[kStrips][kWidth / 16][4], const HeadRows<const Bf16>& rows,
                         const AttentionSizes& sizes, const OwnRows& own, const TilePlace& place) {
    const Bf16* const first = headOf(rows, sizes, own.pair) + own.first * rows.row + 2 * place.t;
    BUBBLESCOPE_UNROLL
    for (int eight = 0; eight < 2 * kStrips; ++eight) {
        const int row = place.g + 8 * eight;
        BUBBLESCOPE_UNROLL
        for (int word = 0; word < kWidth / 8; ++word) {
            left[eight / 2][word / 2][word % 2 * 2 + eight % 2] =
                row < own.inside ? wordAt(first + row * rows.row + word * 8) : 0U;
        }
    }
}

/// Starts copying bytes to shared memory, or clearing bytes there, while the thread continues; see awaitCopies().
template <int kBytes>
__device__ void copyAhead(void* to, const void* from, bool inside) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int bytes = inside ? kBytes : 0;
    if constexpr (kBytes == 16) { // bypasses the L1 cache, because other blocks on the processor read different data
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(kBytes), "r"(bytes)
                     : "memory");
    }
#else
    struct __attribute__((may_alias, aligned(4))) Bytes {
        unsigned words[kBytes / 4];
    };
    *static_cast<Bytes*>(to) = inside ? *static_cast<const Bytes*>(from) : Bytes{};
#endif
}

/// Waits for the copies that this thread has started.
__device__ inline void awaitCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Fills a tile with the rows of a head starting at `first`, and with zeros starting at `end`.
template <int kWidth>
__device__ void fill(TileOfRows<kWidth>& tile, const HeadRows<const Bf16>& rows, const Bf16* head, int first, int end,
                     const TilePlace& place) {
    constexpr int kEights = kWidth / 8;
    constexpr int kApart = kTileThreads / kEights; // rows of a thread
    const int row = place.thread / kEights;
    const int eight = place.thread % kEights;
    const int stride = static_cast<int>(rows.row);
    const Bf16* const from = head + static_cast<std::int64_t>(first + row) * stride + eight * 8;
    BUBBLESCOPE_UNROLL
    for (int next = 0; next < kPassing<kWidth>; next += kApart) {
        copyAhead<16>(&tile.pairs[(row + next) * TileOfRows<kWidth>::kStride + eight * 4], from + next * stride,
                      first + row + next < end);
    }
}

template <int kStrips, int kCount>
__device__ void clear(float (&sums)[kStrips][kCount][4]) {
    BUBBLESCOPE_UNROLL
    for (int strip = 0; strip < kStrips; ++strip) {
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kCount; ++n)
            sums[strip][n][0] = sums[strip][n][1] = sums[strip][n][2] = sums[strip][n][3] = 0.0F;
    }
}

#ifdef __CUDACC__
/// Four matrices of 8 x 8 numbers in shared memory; lanes 8i to 8i + 7 pass the rows of matrix i. A lane receives the
/// words (g, 2t) of each matrix or, if transposed, the numbers (2t, g) and (2t + 1, g).
__device__ inline void readMatrices(unsigned (&words)[4], const unsigned* row) {
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
}

__device__ inline void readTurnedMatrices(unsigned (&words)[4], const unsigned* row) {
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
}
#endif

/// The words of two adjacent right factors. The factors' columns are rows of `tile`, starting at `column`, and their
/// inner indices start at `inner`. The part of the address that depends on the lane is separate, because the compiler
/// can compute the rest.
template <int kWidth>
__device__ void takeRight(unsigned (&words)[4], const unsigned* tile, int column, int inner, const TilePlace& place) {
    constexpr int kStride = TileOfRows<kWidth>::kStride;
    const unsigned* const from = tile + column * kStride + inner / 2;
#ifdef __CUDACC__
    const int lane = place.thread % 32;
    readMatrices(words, from + (lane / 16 * 8 + lane % 8) * kStride + lane / 8 % 2 * 4);
#else
    for (int word = 0; word < 4; ++word)
        words[word] = from[(word / 2 * 8 + place.g) * kStride + word % 2 * 4 + place.t];
#endif
}

/// Like takeRight(), but the columns are features, starting at `column`, and the inner indices are rows of the tile.
template <int kWidth>
__device__ void takeTurnedRight(unsigned (&words)[4], const unsigned* tile, int column, int inner,
                                const TilePlace& place) {
    constexpr int kStride = TileOfRows<kWidth>::kStride;
    const unsigned* const from = tile + inner * kStride + column / 2;
#ifdef __CUDACC__
    const int lane = place.thread % 32;
    readTurnedMatrices(words, from + lane % 16 * kStride + lane / 16 * 4);
#else
    for (int word = 0; word < 4; ++word) {
        const unsigned* const at = from + (word % 2 * 8 + 2 * place.t) * kStride + word / 2 * 4 + place.g / 2;
        const int shift = place.g % 2 * 16;
        words[word] = (at[0] >> shift & 0xFFFFU) | (at[kStride] >> shift & 0xFFFFU) << 16U;
    }
#endif
}

/// The products of a warp's rows with the rows of a tile.
template <int kWidth, int kStrips, int kColumns>
__device__ void multiplyRows(float (&products)[kStrips][kColumns][4], const unsigned (&left)[kStrips][kWidth / 16][4],
                             const unsigned* tile, const TilePlace& place) {
    clear(products);
    BUBBLESCOPE_UNROLL
    for (int k = 0; k < kWidth / 16; ++k) {
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kColumns; n += 2) {
            unsigned right[4];
            takeRight<kWidth>(right, tile, n * 8, k * 16, place);
            BUBBLESCOPE_UNROLL
            for (int strip = 0; strip < kStrips; ++strip) {
                addProduct(products[strip][n], left[strip][k], right[0], right[1]);
                addProduct(products[strip][n + 1], left[strip][k], right[2], right[3]);
            }
        }
    }
}

/// sums += weights · the rows of a tile.
template <int kWidth, int kStrips, int kRows>
__device__ void addWeighted(float (&sums)[kStrips][kWidth / 8][4], const float (&weights)[kStrips][kRows][4],
                            const unsigned* tile, const TilePlace& place) {
    BUBBLESCOPE_UNROLL
    for (int k = 0; k < kRows / 2; ++k) {
        unsigned left[kStrips][4];
        BUBBLESCOPE_UNROLL
        for (int strip = 0; strip < kStrips; ++strip) {
            BUBBLESCOPE_UNROLL
            for (int word = 0; word < 4; ++word) {
                const float(&from)[4] = weights[strip][2 * k + word / 2];
                left[strip][word] = pairOf(from[word % 2 * 2], from[word % 2 * 2 + 1]);
            }
        }
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kWidth / 8; n += 2) {
            unsigned right[4];
            takeTurnedRight<kWidth>(right, tile, n * 8, k * 16, place);
            BUBBLESCOPE_UNROLL
            for (int strip = 0; strip < kStrips; ++strip) {
                addProduct(sums[strip][n], left[strip], right[0], right[1]);
                addProduct(sums[strip][n + 1], left[strip], right[2], right[3]);
            }
        }
    }
}

/// Keeps only the scores for which seen(row of the warp, column) is true.
template <int kStrips, int kColumns, class Seen>
__device__ void hide(float (&scores)[kStrips][kColumns][4], const TilePlace& place, const Seen& seen) {
    BUBBLESCOPE_UNROLL
    for (int strip = 0; strip < kStrips; ++strip) {
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kColumns; ++n) {
            BUBBLESCOPE_UNROLL
            for (int i = 0; i < 4; ++i) {
                if (!seen(kStripRows * strip + place.g + i / 2 * 8, n * 8 + 2 * place.t + i % 2))
                    scores[strip][n][i] = lowestFloat();
            }
        }
    }
}

__device__ inline void put(Bf16* to, float low, float high) {
    *reinterpret_cast<TwoNumbers*>(to) = pairOf(low, high);
}

__device__ inline void put(float* to, float low, float high) {
    to[0] = low;
    to[1] = high;
}

/// Writes a warp's rows of sums, each multiplied by the factor for its index among the rows of a lane.
template <int kWidth, int kStrips, class T, class Factor>
__device__ void writeRows(const HeadRows<T>& rows, const AttentionSizes& sizes, const OwnRows& own,
                          const float (&sums)[kStrips][kWidth / 8][4], const TilePlace& place, const Factor& factor) {
    T* const first = headOf(rows, sizes, own.pair) + own.first * rows.row + 2 * place.t;
    BUBBLESCOPE_UNROLL
    for (int eight = 0; eight < 2 * kStrips; ++eight) {
        const int row = place.g + 8 * eight;
        if (row >= own.inside) continue;
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kWidth / 8; ++n) {
            const float(&from)[4] = sums[eight / 2][n];
            put(first + row * rows.row + n * 8, from[eight % 2 * 2] * factor(eight),
                from[eight % 2 * 2 + 1] * factor(eight));
        }
    }
}

__device__ inline int smaller(int a, int b) {
    return a < b ? a : b;
}

template <int kWidth>
__device__ const unsigned* rowOf(const TileOfRows<kWidth>& tile, int row) {
    return tile.pairs + row * TileOfRows<kWidth>::kStride;
}

} // namespace bubblescope::runtime::tiles
