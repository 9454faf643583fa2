// The GPU's fused attention (runtime/backend/cuda/attention.cu), compiled for the host: over sizes that its tiles do
// not divide, with keys of earlier slices, on memory that ends exactly after the arrays, with threads that take turns
// in
// several orders. Each result is compared with double precision.

#include "runtime/backend/cuda/kernels.h"
#include "tests/support/cuda_shim/kernel_log.h"
#include "tests/support/run_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <random>

namespace bubblescope::runtime::test {
namespace {

struct AttentionCase {
    int width;
    int sequences;
    int heads;
    std::int64_t rows;
    std::int64_t past; ///< keys of earlier slices
    bool sums = false; ///< gradients of keys and values in float
};

/// Memory of exact sizes, aligned as a device's is.
class AlignedMemory {
public:
    ~AlignedMemory() {
        for (const auto& [data, bytes] : map)
            ::operator delete(data, kAlignment);
    }
    template <class T>
    [[nodiscard]] T* room(std::int64_t count) {
        const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
        void* const data = ::operator new(static_cast<std::size_t>(bytes), kAlignment);
        std::memset(data, 0xFF, static_cast<std::size_t>(bytes));
        map.emplace(data, bytes);
        return static_cast<T*>(data);
    }
    [[nodiscard]] Bf16* numbers(std::int64_t count) {
        Bf16* const values = room<Bf16>(count);
        for (std::int64_t i = 0; i < count; ++i)
            store(values[i], normal_(random_));
        return values;
    }

    std::map<void*, std::int64_t> map;

private:
    static constexpr std::align_val_t kAlignment{256};
    std::mt19937 random_{7};
    std::normal_distribution<float> normal_{0.0F, 1.0F};
};

void runCase(const AttentionCase& test) {
    SCOPED_TRACE(testing::Message() << "heads of " << test.width << ", " << test.sequences << " x " << test.heads
                                    << ", " << test.rows << " rows after " << test.past);
    AlignedMemory memory;
    const std::int64_t width = std::int64_t{test.width} * test.heads;
    const std::int64_t seen = test.past + test.rows;
    const AttentionSizes sizes{test.sequences, test.heads, test.width,
                               test.rows,      seen,       1.0F / std::sqrt(static_cast<float>(test.width))};
    const auto rowsOf = [](auto* data, std::int64_t stride, std::int64_t rows) {
        return HeadRows<std::remove_reference_t<decltype(*data)>>{data, stride, stride * rows};
    };
    // Queries, keys and values of a token side by side, as a layer has them; all tokens but the last ones are earlier.
    const Bf16* const all = memory.numbers(test.sequences * seen * 3 * width);
    const auto part = [&](int number, std::int64_t skipped) {
        return rowsOf(all + skipped * 3 * width + number * width, 3 * width, seen);
    };
    FusedAttention forward;
    forward.sizes = sizes;
    forward.queries = part(0, test.past);
    forward.keys = part(1, 0);
    forward.values = part(2, 0);
    const std::int64_t outputs = test.sequences * test.rows * width;
    forward.output = rowsOf(memory.room<Bf16>(outputs), width, test.rows);
    forward.logs = memory.room<float>(sizes.pairs() * test.rows);
    runAttention(forward, memory.map);

    FusedAttentionGradient backward;
    backward.sizes = sizes;
    backward.queries = forward.queries;
    backward.keys = forward.keys;
    backward.values = forward.values;
    backward.output = {forward.output.data, forward.output.row, forward.output.sequence};
    backward.output_grad = rowsOf(static_cast<const Bf16*>(memory.numbers(outputs)), width, test.rows);
    backward.logs = forward.logs;
    backward.along = memory.room<float>(sizes.pairs() * test.rows);
    backward.queries_grad = rowsOf(memory.room<Bf16>(test.sequences * test.rows * 3 * width), 3 * width, test.rows);
    runQueriesGradient(backward, memory.map);
    if (test.sums) {
        float* const sums = memory.room<float>(test.sequences * seen * 2 * width);
        backward.keys_sum = rowsOf(sums, 2 * width, seen);
        backward.values_sum = rowsOf(sums + width, 2 * width, seen);
    } else {
        Bf16* const grads = memory.room<Bf16>(test.sequences * seen * 2 * width);
        backward.keys_grad = rowsOf(grads, 2 * width, seen);
        backward.values_grad = rowsOf(grads + width, 2 * width, seen);
    }
    runKeysGradient(backward, memory.map);
}

TEST(AttentionCode, OfAllWidths) {
    for (const int width : {16, 32, 64, 128})
        runCase({width, 1, 2, 70, 0});
}

TEST(AttentionCode, OfSizesThatTilesDoNotDivide) {
    for (const std::int64_t rows : {1, 7, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129})
        runCase({16, 1, 2, rows, 0});
    runCase({64, 1, 1, 145, 0});
    runCase({128, 1, 1, 97, 0});
}

TEST(AttentionCode, WithKeysOfEarlierSlices) {
    for (const std::int64_t past : {1, 30, 33, 64, 100, 130}) {
        for (const std::int64_t rows : {1, 40, 66, 129})
            runCase({16, 2, 1, rows, past, true});
    }
    runCase({64, 1, 2, 20, 70, true});
    runCase({128, 1, 1, 40, 33, false});
}

TEST(AttentionCode, ABlockHasRowsOfOneHead) {
    runCase({16, 5, 4, 129, 0});
    EXPECT_EQ(cuda_shim::lastShape().blocks, 5U * 4U * 3U) << "64 keys each";
}

TEST(AttentionCode, IsLoadedTogether) {
    EXPECT_EQ(loadAttention(), cudaSuccess);
}

} // namespace
} // namespace bubblescope::runtime::test
