#include "runtime/backend/cuda/attention.h"

#include "runtime/accelerator/kernels/softmax.h"
#include "runtime/backend/cuda/unroll.h"

// A block has 64 rows of one head: 16 for each of its four warps. The rows on the other side pass by in tiles in shared
// memory. A warp multiplies 16 x 16 by 16 x 8 numbers at a time. Of such a product a lane has these places (PTX, matrix
// fragments of mma.m16n8k16), where g is lane / 4 and t is lane % 4, and a word holds two neighbours:
//
//     left factor     words: (g, 2t) (g + 8, 2t) (g, 2t + 8) (g + 8, 2t + 8)    by row and inner index
//     right factor    words: (2t, g) (2t + 8, g)                                by inner index and column
//     product         floats: (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
//
// So two products side by side, rounded, are the left factor of another one, and scores never leave their lane.

namespace bubblescope::runtime {
namespace {

constexpr unsigned kWholeWarp = 0xFFFFFFFFU;
constexpr int kTileWarps = 4;
constexpr int kTileThreads = 32 * kTileWarps;
constexpr int kWarpRows = 16;
constexpr int kTileRows = kWarpRows * kTileWarps;

/// The number of rows that pass by at a time: as many as shared memory and registers have room for.
template <int kWidth>
constexpr int kPassing = kWidth > 64 ? 32 : 64;

// Words of a row in shared memory are followed by four others, so that the lanes of a warp read different banks.
constexpr int kGap = 4;

/// Rows of a tile as they lie in memory: pairs of features.
template <int kWidth>
struct alignas(16) TileOfRows {
    static constexpr int kStride = kWidth / 2 + kGap;
    unsigned pairs[kPassing<kWidth> * kStride];
};

/// Two 16-bit numbers: read and written at once, whatever the type of the memory.
using TwoNumbers = unsigned __attribute__((may_alias));

__device__ unsigned wordAt(const Bf16* from) {
    return *reinterpret_cast<const TwoNumbers*>(from);
}

/// Two numbers rounded as store() does, and side by side.
__device__ unsigned pairOf(float low, float high) {
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

/// e^x of a score, which is rounded to 16 bits afterwards: on GPUs the hardware's, within 2^-21 of it for what is not
/// negligible.
__device__ float weightOf(float x) {
#ifdef __CUDA_ARCH__
    return __expf(x);
#else
    return elementaryExp(x);
#endif
}

/// A number of columns as a small number, for comparing: of all that are beyond a tile the last.
__device__ int within(std::int64_t columns) {
    constexpr std::int64_t kBeyond = 1 << 20;
    return static_cast<int>(columns > kBeyond ? kBeyond : columns < -kBeyond ? -kBeyond : columns);
}

/// sum += left · right, for the places of the lane.
__device__ void addProduct(float (&sum)[4], const unsigned (&left)[4], unsigned right, unsigned right_below) {
#ifdef __CUDACC__
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right), "r"(right_below));
#endif // older GPUs are not given these kernels
#else
    cuda_shim::addProductInWarp(sum, left, right, right_below);
#endif
}

__device__ float fromNeighbour(float value, int distance) {
    return floatOf(__shfl_xor_sync(kWholeWarp, bitsOf(value), distance));
}

/// The sum over the four lanes that share a row.
__device__ float sumOfRow(float value) {
    value += fromNeighbour(value, 1);
    return value + fromNeighbour(value, 2);
}

__device__ float largestOfRow(float value) {
    value = larger(fromNeighbour(value, 1), value);
    return larger(fromNeighbour(value, 2), value);
}

/// The place of a thread among the rows and features of its block.
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

/// The left factor of a warp: 16 rows from `first` on, of which `inside` are there.
template <int kWidth>
__device__ void takeLeft(unsigned (&left)[kWidth / 16][4], const Bf16* first, std::int64_t stride, std::int64_t inside,
                         const TilePlace& place) {
    BUBBLESCOPE_UNROLL
    for (int half = 0; half < 2; ++half) {
        const int row = place.g + 8 * half;
        BUBBLESCOPE_UNROLL
        for (int word = 0; word < kWidth / 8; ++word) {
            left[word / 2][word % 2 * 2 + half] =
                row < inside ? wordAt(first + row * stride + word * 8 + 2 * place.t) : 0U;
        }
    }
}

/// Copies some bytes to shared memory, or clears them there, while the thread goes on: see awaitCopies().
template <int kBytes>
__device__ void copyAhead(void* to, const void* from, bool inside) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(at), "l"(from), "n"(kBytes), "r"(inside ? kBytes : 0)
                 : "memory");
#else
    struct __attribute__((may_alias, aligned(4))) Bytes {
        unsigned words[kBytes / 4];
    };
    *static_cast<Bytes*>(to) = inside ? *static_cast<const Bytes*>(from) : Bytes{};
#endif
}

/// Ends a group of copies.
__device__ void endCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for the thread's own copies, but those of the last group.
__device__ void awaitCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

/// Fills a tile with the rows from `first` on, and with zeros where there are no more.
template <int kWidth>
__device__ void fill(TileOfRows<kWidth>& tile, const HeadRows<const Bf16>& rows, const Bf16* head, std::int64_t first,
                     std::int64_t end, const TilePlace& place) {
    constexpr int kEights = kWidth / 8;
    for (int i = place.thread; i < kPassing<kWidth> * kEights; i += kTileThreads) {
        const int row = i / kEights;
        const int eight = i % kEights;
        const bool inside = first + row < end;
        copyAhead<16>(&tile.pairs[row * TileOfRows<kWidth>::kStride + eight * 4],
                      head + (inside ? first + row : 0) * rows.row + eight * 8, inside);
    }
}

template <int kCount>
__device__ void clear(float (&sums)[kCount][4]) {
    BUBBLESCOPE_UNROLL
    for (int n = 0; n < kCount; ++n)
        sums[n][0] = sums[n][1] = sums[n][2] = sums[n][3] = 0.0F;
}

#ifdef __CUDACC__
/// Four matrices of 8 x 8 numbers in shared memory, of which the lanes 8i to 8i + 7 name the rows of number i. A lane
/// has the words (g, 2t) of each; turned, the numbers (2t, g) and (2t + 1, g).
__device__ void readMatrices(unsigned (&words)[4], const unsigned* row) {
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
}

__device__ void readTurnedMatrices(unsigned (&words)[4], const unsigned* row) {
    const auto at = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
}
#endif

/// The words of two right factors side by side, whose columns are rows of the tile from `column` on, at the inner
/// indices from `inner` on.
template <int kWidth>
__device__ void takeRight(unsigned (&words)[4], const TileOfRows<kWidth>& tile, int column, int inner,
                          const TilePlace& place) {
#ifdef __CUDACC__
    const int lane = place.thread % 32;
    readMatrices(words, &tile.pairs[(column + lane / 16 * 8 + lane % 8) * TileOfRows<kWidth>::kStride +
                                    (inner + lane / 8 % 2 * 8) / 2]);
#else
    for (int word = 0; word < 4; ++word)
        words[word] = tile.pairs[(column + word / 2 * 8 + place.g) * TileOfRows<kWidth>::kStride +
                                 (inner + word % 2 * 8) / 2 + place.t];
#endif
}

/// The same, whose columns are features from `column` on, and whose inner indices are rows of the tile.
template <int kWidth>
__device__ void takeTurnedRight(unsigned (&words)[4], const TileOfRows<kWidth>& tile, int column, int inner,
                                const TilePlace& place) {
#ifdef __CUDACC__
    const int lane = place.thread % 32;
    readTurnedMatrices(words,
                       &tile.pairs[(inner + lane % 16) * TileOfRows<kWidth>::kStride + (column + lane / 16 * 8) / 2]);
#else
    for (int word = 0; word < 4; ++word) {
        const int feature = column + word / 2 * 8 + place.g;
        const unsigned* const at =
            &tile.pairs[(inner + word % 2 * 8 + 2 * place.t) * TileOfRows<kWidth>::kStride + feature / 2];
        const int shift = feature % 2 * 16;
        words[word] = (at[0] >> shift & 0xFFFFU) | (at[TileOfRows<kWidth>::kStride] >> shift & 0xFFFFU) << 16U;
    }
#endif
}

/// The products of 16 rows with all rows of a tile.
template <int kWidth>
__device__ void multiplyRows(float (&products)[kPassing<kWidth> / 8][4], const unsigned (&left)[kWidth / 16][4],
                             const TileOfRows<kWidth>& tile, const TilePlace& place) {
    clear(products);
    BUBBLESCOPE_UNROLL
    for (int n = 0; n < kPassing<kWidth> / 8; n += 2) {
        BUBBLESCOPE_UNROLL
        for (int k = 0; k < kWidth / 16; ++k) {
            unsigned right[4];
            takeRight<kWidth>(right, tile, n * 8, k * 16, place);
            addProduct(products[n], left[k], right[0], right[1]);
            addProduct(products[n + 1], left[k], right[2], right[3]);
        }
    }
}

/// sums += weights · the rows of a tile.
template <int kWidth>
__device__ void addWeighted(float (&sums)[kWidth / 8][4], const float (&weights)[kPassing<kWidth> / 8][4],
                            const TileOfRows<kWidth>& tile, const TilePlace& place) {
    BUBBLESCOPE_UNROLL
    for (int k = 0; k < kPassing<kWidth> / 16; ++k) {
        const float(&low)[4] = weights[2 * k];
        const float(&high)[4] = weights[2 * k + 1];
        const unsigned left[4] = {pairOf(low[0], low[1]), pairOf(low[2], low[3]), pairOf(high[0], high[1]),
                                  pairOf(high[2], high[3])};
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kWidth / 8; n += 2) {
            unsigned right[4];
            takeTurnedRight<kWidth>(right, tile, n * 8, k * 16, place);
            addProduct(sums[n], left, right[0], right[1]);
            addProduct(sums[n + 1], left, right[2], right[3]);
        }
    }
}

__device__ void put(Bf16* to, float low, float high) {
    *reinterpret_cast<TwoNumbers*>(to) = pairOf(low, high);
}

__device__ void put(float* to, float low, float high) {
    to[0] = low;
    to[1] = high;
}

/// Writes 16 rows of sums, each row times its factor.
template <int kWidth, class T>
__device__ void writeRows(T* first, std::int64_t stride, std::int64_t inside, const float (&sums)[kWidth / 8][4],
                          float factor, float factor_below, const TilePlace& place) {
    BUBBLESCOPE_UNROLL
    for (int n = 0; n < kWidth / 8; ++n) {
        T* const to = first + place.g * stride + n * 8 + 2 * place.t;
        if (place.g < inside) put(to, sums[n][0] * factor, sums[n][1] * factor);
        if (place.g + 8 < inside) put(to + 8 * stride, sums[n][2] * factor_below, sums[n][3] * factor_below);
    }
}

/// The rows of a block, and which of them are a warp's.
struct BlockRows {
    std::int64_t pair;  ///< sequence and head
    std::int64_t first; ///< of the block
    std::int64_t own;   ///< first row of the warp

    /// Blocks with most work, which are those of the last queries and of the first keys, come first.
    __device__ BlockRows(std::int64_t tiles, bool last_first, const TilePlace& place)
        : pair(blockIdx.x / tiles),
          first((last_first ? tiles - 1 - blockIdx.x % tiles : blockIdx.x % tiles) * kTileRows),
          own(first + place.warp * kWarpRows) {}
};

__device__ std::int64_t smaller(std::int64_t a, std::int64_t b) {
    return a < b ? a : b;
}

template <int kWidth>
__global__ void __launch_bounds__(kTileThreads) attendKernel(FusedAttention attention, std::int64_t tiles) {
    constexpr int kKeys = kPassing<kWidth>;
    __shared__ struct Tiles {
        TileOfRows<kWidth> keys;
        TileOfRows<kWidth> values;
    } shared[2];
    const TilePlace place;
    const AttentionSizes& sizes = attention.sizes;
    const BlockRows rows(tiles, true, place);
    const std::int64_t past = sizes.seen - sizes.rows;
    const Bf16* const keys = headOf(attention.keys, sizes, rows.pair);
    const Bf16* const values = headOf(attention.values, sizes, rows.pair);
    unsigned queries[kWidth / 16][4];
    takeLeft<kWidth>(queries, headOf(attention.queries, sizes, rows.pair) + rows.own * attention.queries.row,
                     attention.queries.row, sizes.rows - rows.own, place);

    float sums[kWidth / 8][4];
    clear(sums);
    float largest[2] = {lowestFloat(), lowestFloat()};
    float total[2] = {0.0F, 0.0F}; // of the lane's columns
    const std::int64_t end = smaller(sizes.seen, past + rows.first + kTileRows);
    const auto fetch = [&](Tiles& into, std::int64_t first) {
        if (first < end) {
            fill<kWidth>(into.keys, attention.keys, keys, first, sizes.seen, place);
            fill<kWidth>(into.values, attention.values, values, first, sizes.seen, place);
        }
        endCopies();
    };
    fetch(shared[0], 0);
    for (std::int64_t first = 0; first < end; first += kKeys) {
        Tiles& now = shared[first / kKeys % 2];
        fetch(shared[(first / kKeys + 1) % 2], first + kKeys);
        awaitCopies();
        __syncthreads();
        float weights[kKeys / 8][4];
        multiplyRows<kWidth>(weights, queries, now.keys, place);
        BUBBLESCOPE_UNROLL
        for (int half = 0; half < 2; ++half) {
            const int visible = within(past + rows.own + place.g + 8 * half - first); // the last visible column
            float most = largest[half];
            BUBBLESCOPE_UNROLL
            for (int n = 0; n < kKeys / 8; ++n) {
                BUBBLESCOPE_UNROLL
                for (int i = 2 * half; i < 2 * half + 2; ++i) {
                    const bool seen = n * 8 + 2 * place.t + i % 2 <= visible;
                    weights[n][i] = seen ? weights[n][i] * sizes.scale : lowestFloat();
                    most = larger(weights[n][i], most);
                }
            }
            most = largestOfRow(most);
            const float shrink = weightOf(largest[half] - most);
            largest[half] = most;
            total[half] *= shrink;
            BUBBLESCOPE_UNROLL
            for (int n = 0; n < kKeys / 8; ++n) {
                BUBBLESCOPE_UNROLL
                for (int i = 2 * half; i < 2 * half + 2; ++i) {
                    weights[n][i] = weightOf(weights[n][i] - most);
                    total[half] += weights[n][i];
                }
            }
            BUBBLESCOPE_UNROLL
            for (int n = 0; n < kWidth / 8; ++n) {
                sums[n][2 * half] *= shrink;
                sums[n][2 * half + 1] *= shrink;
            }
        }
        addWeighted<kWidth>(sums, weights, now.values, place);
        __syncthreads(); // the tiles have been read
    }
    const float sum = sumOfRow(total[0]);
    const float sum_below = sumOfRow(total[1]);
    writeRows<kWidth>(headOf(attention.output, sizes, rows.pair) + rows.own * attention.output.row,
                      attention.output.row, sizes.rows - rows.own, sums, 1.0F / sum, 1.0F / sum_below, place);
    if (place.t != 0) return;
    const std::int64_t row = rows.own + place.g;
    float* const logs = attention.logs + rows.pair * sizes.rows;
    if (row < sizes.rows) logs[row] = largest[0] + logf(sum);
    if (row + 8 < sizes.rows) logs[row + 8] = largest[1] + logf(sum_below);
}

/// The gradient of the queries; also the product of each row's output with its gradient, which the keys need.
template <int kWidth>
__global__ void __launch_bounds__(kTileThreads)
    queriesGradientKernel(FusedAttentionGradient attention, std::int64_t tiles) {
    constexpr int kKeys = kPassing<kWidth>;
    __shared__ struct Tiles {
        TileOfRows<kWidth> keys;
        TileOfRows<kWidth> values;
    } shared[2];
    const TilePlace place;
    const AttentionSizes& sizes = attention.sizes;
    const BlockRows rows(tiles, true, place);
    const std::int64_t past = sizes.seen - sizes.rows;
    const std::int64_t inside = sizes.rows - rows.own;
    const Bf16* const keys = headOf(attention.keys, sizes, rows.pair);
    const Bf16* const values = headOf(attention.values, sizes, rows.pair);
    unsigned queries[kWidth / 16][4];
    unsigned grads[kWidth / 16][4];
    const auto take = [&](unsigned(&left)[kWidth / 16][4], const HeadRows<const Bf16>& from) {
        takeLeft<kWidth>(left, headOf(from, sizes, rows.pair) + rows.own * from.row, from.row, inside, place);
    };
    float along[2] = {0.0F, 0.0F};
    take(grads, attention.output_grad);
    take(queries, attention.output); // for a moment
    BUBBLESCOPE_UNROLL
    for (int k = 0; k < kWidth / 16; ++k) {
        BUBBLESCOPE_UNROLL
        for (int word = 0; word < 4; ++word) {
            const unsigned one = grads[k][word];
            const unsigned other = queries[k][word];
            along[word % 2] +=
                floatOf(one << 16U) * floatOf(other << 16U) + floatOf(one & 0xFFFF0000U) * floatOf(other & 0xFFFF0000U);
        }
    }
    take(queries, attention.queries);
    float logs[2] = {0.0F, 0.0F};
    BUBBLESCOPE_UNROLL
    for (int half = 0; half < 2; ++half) {
        along[half] = sumOfRow(along[half]);
        const std::int64_t row = place.g + 8 * half;
        if (row >= inside) continue;
        const std::int64_t at = rows.pair * sizes.rows + rows.own + row;
        logs[half] = attention.logs[at];
        if (place.t == 0) attention.along[at] = along[half];
    }

    float sums[kWidth / 8][4];
    clear(sums);
    const std::int64_t end = smaller(sizes.seen, past + rows.first + kTileRows);
    const auto fetch = [&](Tiles& into, std::int64_t first) {
        if (first < end) {
            fill<kWidth>(into.keys, attention.keys, keys, first, sizes.seen, place);
            fill<kWidth>(into.values, attention.values, values, first, sizes.seen, place);
        }
        endCopies();
    };
    fetch(shared[0], 0);
    for (std::int64_t first = 0; first < end; first += kKeys) {
        Tiles& now = shared[first / kKeys % 2];
        fetch(shared[(first / kKeys + 1) % 2], first + kKeys);
        awaitCopies();
        __syncthreads();
        float weights[kKeys / 8][4];
        float weights_grad[kKeys / 8][4];
        multiplyRows<kWidth>(weights, queries, now.keys, place);
        multiplyRows<kWidth>(weights_grad, grads, now.values, place);
        const int visible = within(past + rows.own + place.g - first); // the last visible column of the upper row
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kKeys / 8; ++n) {
            BUBBLESCOPE_UNROLL
            for (int i = 0; i < 4; ++i) {
                const int half = i / 2;
                const bool seen = n * 8 + 2 * place.t + i % 2 <= visible + 8 * half;
                const float weight = weightOf(weights[n][i] * sizes.scale - logs[half]);
                weights[n][i] = seen ? weight * (weights_grad[n][i] - along[half]) : 0.0F;
            }
        }
        addWeighted<kWidth>(sums, weights, now.keys, place);
        __syncthreads(); // the tiles have been read
    }
    writeRows<kWidth>(headOf(attention.queries_grad, sizes, rows.pair) + rows.own * attention.queries_grad.row,
                      attention.queries_grad.row, inside, sums, sizes.scale, sizes.scale, place);
}

/// The gradients of keys and values: a block has keys, and the queries that see them pass by. `Grads` names where the
/// gradients go.
template <int kWidth, class T>
__global__ void __launch_bounds__(kTileThreads)
    keysGradientKernel(FusedAttentionGradient attention, HeadRows<T> keys_grad, HeadRows<T> values_grad,
                       std::int64_t tiles) {
    constexpr int kQueries = kPassing<kWidth>;
    __shared__ struct Tiles {
        TileOfRows<kWidth> queries;
        TileOfRows<kWidth> grads;
        float logs[kPassing<kWidth>];
        float along[kPassing<kWidth>];
    } shared[2];
    const TilePlace place;
    const AttentionSizes& sizes = attention.sizes;
    const BlockRows rows(tiles, false, place);
    const std::int64_t past = sizes.seen - sizes.rows;
    const std::int64_t inside = sizes.seen - rows.own;
    const Bf16* const queries = headOf(attention.queries, sizes, rows.pair);
    const Bf16* const grads = headOf(attention.output_grad, sizes, rows.pair);
    unsigned keys[kWidth / 16][4];
    unsigned values[kWidth / 16][4];
    takeLeft<kWidth>(keys, headOf(attention.keys, sizes, rows.pair) + rows.own * attention.keys.row, attention.keys.row,
                     inside, place);
    takeLeft<kWidth>(values, headOf(attention.values, sizes, rows.pair) + rows.own * attention.values.row,
                     attention.values.row, inside, place);

    float keys_sum[kWidth / 8][4];
    float values_sum[kWidth / 8][4];
    clear(keys_sum);
    clear(values_sum);
    // The first query that sees a key of the block, in whole tiles.
    const std::int64_t begin = rows.first > past ? (rows.first - past) / kQueries * kQueries : 0;
    const auto fetch = [&](Tiles& into, std::int64_t first) {
        if (first < sizes.rows) {
            fill<kWidth>(into.queries, attention.queries, queries, first, sizes.rows, place);
            fill<kWidth>(into.grads, attention.output_grad, grads, first, sizes.rows, place);
            if (place.thread < kQueries) {
                const bool is_there = first + place.thread < sizes.rows;
                const std::int64_t at = rows.pair * sizes.rows + (is_there ? first + place.thread : 0);
                copyAhead<4>(&into.logs[place.thread], attention.logs + at, is_there);
                copyAhead<4>(&into.along[place.thread], attention.along + at, is_there);
            }
        }
        endCopies();
    };
    fetch(shared[begin / kQueries % 2], begin);
    for (std::int64_t first = begin; first < sizes.rows; first += kQueries) {
        const std::int64_t there = sizes.rows - first;
        Tiles& now = shared[first / kQueries % 2];
        fetch(shared[(first / kQueries + 1) % 2], first + kQueries);
        awaitCopies();
        __syncthreads();
        float weights[kQueries / 8][4];
        float weights_grad[kQueries / 8][4];
        multiplyRows<kWidth>(weights, keys, now.queries, place);
        multiplyRows<kWidth>(weights_grad, values, now.grads, place);
        const int inside_tile = within(there);
        const int from = within(rows.own + place.g - past - first); // the first query that sees the upper row
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kQueries / 8; ++n) {
            BUBBLESCOPE_UNROLL
            for (int i = 0; i < 4; ++i) {
                const int query = n * 8 + 2 * place.t + i % 2;
                const bool seen = query < inside_tile && from + 8 * (i / 2) <= query;
                const float weight = seen ? weightOf(weights[n][i] * sizes.scale - now.logs[query]) : 0.0F;
                weights[n][i] = weight;
                weights_grad[n][i] = weight * (weights_grad[n][i] - now.along[query]);
            }
        }
        addWeighted<kWidth>(values_sum, weights, now.grads, place);
        addWeighted<kWidth>(keys_sum, weights_grad, now.queries, place);
        __syncthreads(); // the tiles have been read
    }
    writeRows<kWidth>(headOf(keys_grad, sizes, rows.pair) + rows.own * keys_grad.row, keys_grad.row, inside, keys_sum,
                      sizes.scale, sizes.scale, place);
    writeRows<kWidth>(headOf(values_grad, sizes, rows.pair) + rows.own * values_grad.row, values_grad.row, inside,
                      values_sum, 1.0F, 1.0F, place);
}

template <class... Parameters, class... Arguments>
void startTiles(void (*kernel)(Parameters...), std::int64_t blocks, cudaStream_t stream,
                const Arguments&... arguments) {
    if (blocks <= 0) return;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(kTileThreads);
    config.stream = stream;
    (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

std::int64_t tilesOf(std::int64_t rows) {
    return (rows + kTileRows - 1) / kTileRows;
}

template <int kWidth>
void attend(const FusedAttention& attention, cudaStream_t stream) {
    const std::int64_t tiles = tilesOf(attention.sizes.rows);
    startTiles(attendKernel<kWidth>, attention.sizes.pairs() * tiles, stream, attention, tiles);
}

template <int kWidth>
void queriesGradient(const FusedAttentionGradient& attention, cudaStream_t stream) {
    const std::int64_t tiles = tilesOf(attention.sizes.rows);
    startTiles(queriesGradientKernel<kWidth>, attention.sizes.pairs() * tiles, stream, attention, tiles);
}

template <int kWidth>
void keysGradient(const FusedAttentionGradient& attention, cudaStream_t stream) {
    const std::int64_t tiles = tilesOf(attention.sizes.seen);
    const std::int64_t blocks = attention.sizes.pairs() * tiles;
    if (attention.keys_sum.data != nullptr) {
        startTiles(keysGradientKernel<kWidth, float>, blocks, stream, attention, attention.keys_sum,
                   attention.values_sum, tiles);
    } else {
        startTiles(keysGradientKernel<kWidth, Bf16>, blocks, stream, attention, attention.keys_grad,
                   attention.values_grad, tiles);
    }
}

template <int kWidth>
cudaError_t load() {
    cudaFuncAttributes attributes;
    cudaError_t result = cudaFuncGetAttributes(&attributes, attendKernel<kWidth>);
    if (result == cudaSuccess) result = cudaFuncGetAttributes(&attributes, queriesGradientKernel<kWidth>);
    if (result == cudaSuccess) result = cudaFuncGetAttributes(&attributes, keysGradientKernel<kWidth, float>);
    if (result == cudaSuccess) result = cudaFuncGetAttributes(&attributes, keysGradientKernel<kWidth, Bf16>);
    return result;
}

} // namespace

void attendOnGpu(const FusedAttention& attention, cudaStream_t stream) {
    switch (attention.sizes.width) {
    case 16: return attend<16>(attention, stream);
    case 32: return attend<32>(attention, stream);
    case 64: return attend<64>(attention, stream);
    case 128: return attend<128>(attention, stream);
    default: break;
    }
}

void queriesGradientOnGpu(const FusedAttentionGradient& attention, cudaStream_t stream) {
    switch (attention.sizes.width) {
    case 16: return queriesGradient<16>(attention, stream);
    case 32: return queriesGradient<32>(attention, stream);
    case 64: return queriesGradient<64>(attention, stream);
    case 128: return queriesGradient<128>(attention, stream);
    default: break;
    }
}

void keysGradientOnGpu(const FusedAttentionGradient& attention, cudaStream_t stream) {
    switch (attention.sizes.width) {
    case 16: return keysGradient<16>(attention, stream);
    case 32: return keysGradient<32>(attention, stream);
    case 64: return keysGradient<64>(attention, stream);
    case 128: return keysGradient<128>(attention, stream);
    default: break;
    }
}

cudaError_t loadAttention() {
    cudaError_t result = load<16>();
    if (result == cudaSuccess) result = load<32>();
    if (result == cudaSuccess) result = load<64>();
    if (result == cudaSuccess) result = load<128>();
    return result;
}

} // namespace bubblescope::runtime
