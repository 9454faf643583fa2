#include "runtime/backend/cuda/kernels.h"

#include "runtime/backend/cuda/attention_tiles.h"

// Fused attention as in FlashAttention-2 (Dao 2023): scores are computed tile by tile and never reach memory. Sums are
// in row order, so results are bit-identical for equal sizes.

namespace bubblescope::runtime {
/// Not anonymous: nvcc derives the name of such a namespace from the path of the file, and builds would differ.
inline namespace attention_kernels {

using namespace tiles;

template <int kWidth>
using AttendDivision = Division<(kWidth > 64 ? 1 : 2), kPassing<kWidth>>;
template <int kWidth>
using QueriesDivision = Division<(kWidth > 64 ? 1 : 2), 32>;
template <int kWidth>
using KeysDivision = Division<1, 16>;

/// Visits the rows from `begin` to `end`: calls take(tiles, row, first) for `kStep` rows at a time, which start at
/// `row` in the tiles and at `first` in the sequence. The first tiles must have been fetched.
template <int kWidth, int kStep, class Tiles, class Fetch, class Take>
__device__ void passBy(Tiles (&tiles)[2], int begin, int end, const Fetch& fetch, const Take& take) {
    int now = 0;
    for (int first = begin; first < end; first += kPassing<kWidth>) {
        awaitCopies();
        __syncthreads(); // the tiles have arrived, and the previous ones have been read
        if (first + kPassing<kWidth> < end) fetch(tiles[1 - now], first + kPassing<kWidth>);
        for (int row = 0; row < kPassing<kWidth>; row += kStep)
            take(tiles[now], row, first + row);
        now = 1 - now;
    }
}

/// Keys and values that a block of queries processes in turn.
template <int kWidth>
struct KeyTiles {
    TileOfRows<kWidth> keys;
    TileOfRows<kWidth> values;
};

/// Fetches the rows of a head, starting at `first`.
template <class Attention>
struct FetchKeys {
    const Attention& attention;
    const Bf16* keys;
    const Bf16* values;
    int end;
    const TilePlace& place;

    template <int kWidth>
    __device__ void operator()(KeyTiles<kWidth>& into, int first) const {
        fill<kWidth>(into.keys, attention.keys, keys, first, end, place);
        fill<kWidth>(into.values, attention.values, values, first, end, place);
    }
};

template <int kWidth>
__global__ void __launch_bounds__(kTileThreads) attendKernel(FusedAttention attention) {
    using Divided = AttendDivision<kWidth>;
    constexpr int kStrips = Divided::kStrips;
    constexpr int kStep = Divided::kStep;
    __shared__ KeyTiles<kWidth> shared[2];
    const TilePlace place;
    const AttentionSizes& sizes = attention.sizes;
    const OwnRows own(Divided{}, sizes, sizes.rows, true, place);
    const int past = static_cast<int>(sizes.seen - sizes.rows);
    const int end = smaller(static_cast<int>(sizes.seen), past + own.block + Divided::kBlockRows);
    const FetchKeys<FusedAttention> fetch{attention, headOf(attention.keys, sizes, own.pair),
                                          headOf(attention.values, sizes, own.pair), end, place};
    fetch(shared[0], 0); // while the block's own rows are being read
    unsigned queries[kStrips][kWidth / 16][4];
    takeLeft<kWidth>(queries, attention.queries, sizes, own, place);

    float sums[kStrips][kWidth / 8][4];
    clear(sums);
    float largest[2 * kStrips]; // maximum of the unscaled scores, because the scale is positive
    float total[2 * kStrips];   // sum over the lane's columns
    BUBBLESCOPE_UNROLL
    for (int eight = 0; eight < 2 * kStrips; ++eight) {
        largest[eight] = lowestFloat();
        total[eight] = 0.0F;
    }
    const float scale = sizes.scale * kLogOfE;
    const auto take_keys = [&](const KeyTiles<kWidth>& now, int row, int first) {
        const int hidden = first - past - own.first; // row r of the warp sees column c if c + hidden <= r
        if (hidden >= Divided::kWarpRows) return;
        float weights[kStrips][kStep / 8][4];
        multiplyRows<kWidth>(weights, queries, rowOf(now.keys, row), place);
        if (hidden + kStep > 1)
            hide(weights, place, [&](int own_row, int column) { return column + hidden <= own_row; });
        BUBBLESCOPE_UNROLL
        for (int eight = 0; eight < 2 * kStrips; ++eight) {
            const int strip = eight / 2;
            const int half = eight % 2 * 2;
            float most = largest[eight];
            BUBBLESCOPE_UNROLL
            for (int n = 0; n < kStep / 8; ++n)
                most = fmaxf(fmaxf(weights[strip][n][half], weights[strip][n][half + 1]), most);
            most = largestOfRow(most);
            const float shrink = powerOfTwo((largest[eight] - most) * scale);
            const float most_scaled = most * scale;
            largest[eight] = most;
            total[eight] *= shrink;
            BUBBLESCOPE_UNROLL
            for (int n = 0; n < kStep / 8; ++n) {
                BUBBLESCOPE_UNROLL
                for (int i = half; i < half + 2; ++i) {
                    weights[strip][n][i] = powerOfTwo(weights[strip][n][i] * scale - most_scaled);
                    total[eight] += weights[strip][n][i];
                }
            }
            BUBBLESCOPE_UNROLL
            for (int n = 0; n < kWidth / 8; ++n) {
                sums[strip][n][half] *= shrink;
                sums[strip][n][half + 1] *= shrink;
            }
        }
        addWeighted<kWidth>(sums, weights, rowOf(now.values, row), place);
    };
    passBy<kWidth, kStep>(shared, 0, end, fetch, take_keys);

    float inverse[2 * kStrips];
    BUBBLESCOPE_UNROLL
    for (int eight = 0; eight < 2 * kStrips; ++eight) {
        const float sum = sumOfRow(total[eight]);
        inverse[eight] = 1.0F / sum;
        const int row = place.g + 8 * eight;
        if (place.t == 0 && row < own.inside)
            attention.logs[own.pair * sizes.rows + own.first + row] = largest[eight] * sizes.scale + logf(sum);
    }
    writeRows<kWidth>(attention.output, sizes, own, sums, place, [&](int eight) { return inverse[eight]; });
}

/// The gradient of the queries; also computes the product of each row's output with its gradient, which the gradient of
/// the keys needs.
template <int kWidth>
__global__ void __launch_bounds__(kTileThreads) queriesGradientKernel(FusedAttentionGradient attention) {
    using Divided = QueriesDivision<kWidth>;
    constexpr int kStrips = Divided::kStrips;
    constexpr int kStep = Divided::kStep;
    __shared__ KeyTiles<kWidth> shared[2];
    const TilePlace place;
    const AttentionSizes& sizes = attention.sizes;
    const OwnRows own(Divided{}, sizes, sizes.rows, true, place);
    const int past = static_cast<int>(sizes.seen - sizes.rows);
    const int end = smaller(static_cast<int>(sizes.seen), past + own.block + Divided::kBlockRows);
    const FetchKeys<FusedAttentionGradient> fetch{attention, headOf(attention.keys, sizes, own.pair),
                                                  headOf(attention.values, sizes, own.pair), end, place};
    fetch(shared[0], 0); // while the block's own rows are being read
    unsigned queries[kStrips][kWidth / 16][4];
    unsigned grads[kStrips][kWidth / 16][4];
    takeLeft<kWidth>(grads, attention.output_grad, sizes, own, place);
    takeLeft<kWidth>(queries, attention.output, sizes, own, place); // used only here
    float along[2 * kStrips];
    float logs[2 * kStrips]; // in base 2
    BUBBLESCOPE_UNROLL
    for (int eight = 0; eight < 2 * kStrips; ++eight) {
        along[eight] = 0.0F;
        BUBBLESCOPE_UNROLL
        for (int word = 0; word < kWidth / 8; ++word) {
            const unsigned one = grads[eight / 2][word / 2][word % 2 * 2 + eight % 2];
            const unsigned other = queries[eight / 2][word / 2][word % 2 * 2 + eight % 2];
            along[eight] +=
                floatOf(one << 16U) * floatOf(other << 16U) + floatOf(one & 0xFFFF0000U) * floatOf(other & 0xFFFF0000U);
        }
        along[eight] = sumOfRow(along[eight]);
        logs[eight] = 0.0F;
        const int row = place.g + 8 * eight;
        if (row < own.inside) {
            const std::int64_t at = own.pair * sizes.rows + own.first + row;
            logs[eight] = attention.logs[at] * kLogOfE;
            if (place.t == 0) attention.along[at] = along[eight];
        }
    }
    takeLeft<kWidth>(queries, attention.queries, sizes, own, place);

    float sums[kStrips][kWidth / 8][4];
    clear(sums);
    const float scale = sizes.scale * kLogOfE;
    const auto take_keys = [&](const KeyTiles<kWidth>& now, int row, int first) {
        const int hidden = first - past - own.first; // row r of the warp sees column c if c + hidden <= r
        if (hidden >= Divided::kWarpRows) return;
        float weights[kStrips][kStep / 8][4];
        float weights_grad[kStrips][kStep / 8][4];
        multiplyRows<kWidth>(weights, queries, rowOf(now.keys, row), place);
        multiplyRows<kWidth>(weights_grad, grads, rowOf(now.values, row), place);
        if (hidden + kStep > 1)
            hide(weights, place, [&](int own_row, int column) { return column + hidden <= own_row; });
        BUBBLESCOPE_UNROLL
        for (int strip = 0; strip < kStrips; ++strip) {
            BUBBLESCOPE_UNROLL
            for (int n = 0; n < kStep / 8; ++n) {
                BUBBLESCOPE_UNROLL
                for (int i = 0; i < 4; ++i) {
                    const int eight = 2 * strip + i / 2;
                    const float weight = powerOfTwo(weights[strip][n][i] * scale - logs[eight]);
                    weights[strip][n][i] = weight * (weights_grad[strip][n][i] - along[eight]);
                }
            }
        }
        addWeighted<kWidth>(sums, weights, rowOf(now.keys, row), place);
    };
    passBy<kWidth, kStep>(shared, 0, end, fetch, take_keys);
    writeRows<kWidth>(attention.queries_grad, sizes, own, sums, place, [&](int) { return sizes.scale; });
}

/// The data of two neighbouring queries for the gradient of the keys.
struct alignas(16) TwoQueries {
    float logs[2];
    float along[2];
};

/// The gradients of keys and values: each block holds keys, and processes the queries that attend to them in turn.
template <int kWidth, class T>
__global__ void __launch_bounds__(kTileThreads)
    keysGradientKernel(FusedAttentionGradient attention, HeadRows<T> keys_grad, HeadRows<T> values_grad) {
    using Divided = KeysDivision<kWidth>;
    constexpr int kStrips = Divided::kStrips;
    constexpr int kStep = Divided::kStep;
    __shared__ struct Tiles {
        TileOfRows<kWidth> queries;
        TileOfRows<kWidth> grads;
        TwoQueries numbers[kPassing<kWidth> / 2];
    } shared[2];
    const TilePlace place;
    const AttentionSizes& sizes = attention.sizes;
    const OwnRows own(Divided{}, sizes, sizes.seen, false, place);
    const int past = static_cast<int>(sizes.seen - sizes.rows);
    const int end = static_cast<int>(sizes.rows);
    // The first query that attends to a key of the block, rounded down to whole tiles.
    const int begin = own.block > past ? (own.block - past) / kPassing<kWidth> * kPassing<kWidth> : 0;
    const Bf16* const queries = headOf(attention.queries, sizes, own.pair);
    const Bf16* const grads = headOf(attention.output_grad, sizes, own.pair);
    const float* const logs = attention.logs + own.pair * sizes.rows;
    const float* const along = attention.along + own.pair * sizes.rows;
    const auto fetch = [&](Tiles& into, int first) {
        fill<kWidth>(into.queries, attention.queries, queries, first, end, place);
        fill<kWidth>(into.grads, attention.output_grad, grads, first, end, place);
        if (place.thread >= kPassing<kWidth>) return;
        const int query = first + place.thread;
        TwoQueries& to = into.numbers[place.thread / 2];
        copyAhead<4>(&to.logs[place.thread % 2], logs + query, query < end);
        copyAhead<4>(&to.along[place.thread % 2], along + query, query < end);
    };
    fetch(shared[0], begin); // while the block's own rows are being read
    unsigned keys[kStrips][kWidth / 16][4];
    unsigned values[kStrips][kWidth / 16][4];
    takeLeft<kWidth>(keys, attention.keys, sizes, own, place);
    takeLeft<kWidth>(values, attention.values, sizes, own, place);

    float keys_sum[kStrips][kWidth / 8][4];
    float values_sum[kStrips][kWidth / 8][4];
    clear(keys_sum);
    clear(values_sum);
    const float scale = sizes.scale * kLogOfE;
    const auto take_queries = [&](const Tiles& now, int row, int first) {
        const int hidden = own.first - past - first; // row r of the warp is seen by column c if r + hidden <= c
        if (hidden >= kStep) return;
        float weights[kStrips][kStep / 8][4];
        float weights_grad[kStrips][kStep / 8][4];
        multiplyRows<kWidth>(weights, keys, rowOf(now.queries, row), place);
        multiplyRows<kWidth>(weights_grad, values, rowOf(now.grads, row), place);
        if (hidden + Divided::kWarpRows > 1)
            hide(weights, place, [&](int own_row, int column) { return own_row + hidden <= column; });
        // Queries beyond the end are zero, and so are their gradients, so they add nothing.
        BUBBLESCOPE_UNROLL
        for (int n = 0; n < kStep / 8; ++n) {
            const TwoQueries& two = now.numbers[row / 2 + n * 4 + place.t];
            BUBBLESCOPE_UNROLL
            for (int strip = 0; strip < kStrips; ++strip) {
                BUBBLESCOPE_UNROLL
                for (int i = 0; i < 4; ++i) {
                    const float weight = powerOfTwo(weights[strip][n][i] * scale - two.logs[i % 2] * kLogOfE);
                    weights[strip][n][i] = weight;
                    weights_grad[strip][n][i] = weight * (weights_grad[strip][n][i] - two.along[i % 2]);
                }
            }
        }
        addWeighted<kWidth>(values_sum, weights, rowOf(now.grads, row), place);
        addWeighted<kWidth>(keys_sum, weights_grad, rowOf(now.queries, row), place);
    };
    passBy<kWidth, kStep>(shared, begin, end, fetch, take_queries);
    writeRows<kWidth>(keys_grad, sizes, own, keys_sum, place, [&](int) { return sizes.scale; });
    writeRows<kWidth>(values_grad, sizes, own, values_sum, place, [](int) { return 1.0F; });
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

/// The blocks of a launch for this many rows per sequence.
template <class OfKernel>
std::int64_t blocksOf(const AttentionSizes& sizes, std::int64_t rows) {
    return sizes.pairs() * ((rows + OfKernel::kBlockRows - 1) / OfKernel::kBlockRows);
}

template <int kWidth>
void attend(const FusedAttention& attention, cudaStream_t stream) {
    const std::int64_t blocks = blocksOf<AttendDivision<kWidth>>(attention.sizes, attention.sizes.rows);
    startTiles(attendKernel<kWidth>, blocks, stream, attention);
}

template <int kWidth>
void queriesGradient(const FusedAttentionGradient& attention, cudaStream_t stream) {
    const std::int64_t blocks = blocksOf<QueriesDivision<kWidth>>(attention.sizes, attention.sizes.rows);
    startTiles(queriesGradientKernel<kWidth>, blocks, stream, attention);
}

template <int kWidth>
void keysGradient(const FusedAttentionGradient& attention, cudaStream_t stream) {
    const std::int64_t blocks = blocksOf<KeysDivision<kWidth>>(attention.sizes, attention.sizes.seen);
    if (attention.keys_sum.data != nullptr) {
        startTiles(keysGradientKernel<kWidth, float>, blocks, stream, attention, attention.keys_sum,
                   attention.values_sum);
    } else {
        startTiles(keysGradientKernel<kWidth, Bf16>, blocks, stream, attention, attention.keys_grad,
                   attention.values_grad);
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

} // namespace attention_kernels

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
