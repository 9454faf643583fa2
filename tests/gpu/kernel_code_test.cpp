// The GPU's own code of every kernel (runtime/backend/cuda/kernels.cu), compiled for the host: over sizes that its
// blocks and warps do not divide, on memory that ends exactly after the arrays, with threads that take turns in several
// orders.

#include "core/aadiff/digest.h"
#include "runtime/backend/cuda/kernels.h"
#include "tests/support/cuda_shim/kernel_log.h"
#include "tests/support/run_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

/// Memory of exact sizes with numbers that are not far from 1.
class Exact {
public:
    ~Exact() {
        for (const auto& [data, bytes] : memory_)
            ::operator delete(data);
    }
    template <class T>
    [[nodiscard]] T* numbers(std::int64_t count) {
        T* const values = room<T>(count);
        for (std::int64_t i = 0; i < count; ++i)
            store(values[i], normal_(random_));
        return values;
    }
    /// Sums to add to, unless a kernel is to begin new ones.
    [[nodiscard]] const float* sums(std::int64_t count, bool before) {
        return before ? numbers<float>(count) : nullptr;
    }
    template <class T>
    [[nodiscard]] T* positive(std::int64_t count) {
        T* const values = numbers<T>(count);
        for (std::int64_t i = 0; i < count; ++i)
            store(values[i], std::abs(load(values[i])));
        return values;
    }
    template <class T>
    [[nodiscard]] T* whole(std::int64_t count, std::int64_t below) {
        T* const values = room<T>(count);
        for (std::int64_t i = 0; i < count; ++i)
            values[i] = static_cast<T>(random_() % static_cast<std::uint64_t>(below));
        return values;
    }
    /// Begins `misplaced` numbers after memory that is aligned as a device's is.
    template <class T>
    [[nodiscard]] T* room(std::int64_t count) {
        const std::int64_t bytes = (count + misplaced) * static_cast<std::int64_t>(sizeof(T));
        void* const data = ::operator new(static_cast<std::size_t>(bytes));
        std::memset(data, 0xFF, static_cast<std::size_t>(bytes));
        memory_.emplace(data, bytes);
        return static_cast<T*>(data) + misplaced;
    }
    template <class Kernel>
    void run(const Kernel& kernel) {
        runKernel(kernel, memory_);
    }

    std::int64_t misplaced = 0;

private:
    std::map<void*, std::int64_t> memory_;
    std::mt19937 random_{5};
    std::normal_distribution<float> normal_{1.0F, 0.5F};
};

using Sizes = std::vector<std::int64_t>;
const Sizes kSizes{1, 5, 31, 33, 255, 257, 700};
const Sizes kRows{1, 3, 33, 70};

template <class T>
void runKernelsOfElements(const Sizes& sizes) {
    for (const std::int64_t size : sizes) {
        Exact on;
        on.run(AdamWKernel<T>{on.numbers<float>(size), on.room<T>(size), on.numbers<float>(size),
                              on.numbers<float>(size), on.positive<float>(size), size, 4.0F, 0.9F, 0.95F, 0.99F, 1e-3F,
                              1.0F, 1e-8F});
        on.run(DisturbKernel<T>{on.numbers<T>(size), size, 77});
        on.run(FlipKernel<T>{on.numbers<T>(1), 13});
        on.run(GeluKernel<T>{on.room<T>(size), on.numbers<T>(size), size});
        on.run(GeluGradientKernel<T>{on.numbers<T>(size), on.numbers<T>(size), size});
        for (const std::int64_t rows : kRows) {
            on.run(AddWithBiasKernel<T>{on.numbers<T>(rows * size), on.numbers<float>(rows * size),
                                        on.numbers<float>(size), rows, size});
            on.run(AddColumnsKernel<T>{on.numbers<T>(rows * (size + 7)), on.numbers<float>(rows * (size + 2)), rows,
                                       size, size + 7, 3, size + 2, 1});
            on.run(ScaleKernel<T>{on.room<T>(rows * size), on.numbers<T>(rows * size), on.numbers<float>(size),
                                  on.numbers<float>(size), rows, size});
        }
    }
}

template <class T>
void runKernelsOfRows(const Sizes& sizes) {
    for (const std::int64_t size : sizes) {
        for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{6}}) {
            Exact on;
            const auto values = [&] { return on.numbers<T>(rows * size); };
            on.run(NormaliseKernel<T>{values(), on.room<float>(rows), values(), rows, size});
            on.run(NormaliseAndScaleKernel<T>{{values(), on.room<float>(rows), values(), rows, size},
                                              on.room<T>(rows * size),
                                              on.numbers<float>(size),
                                              on.numbers<float>(size)});
            for (T* const beside : {static_cast<T*>(nullptr), values()})
                on.run(NormGradientKernel<T>{on.room<T>(rows * size), beside, values(), values(),
                                             on.positive<float>(rows), on.numbers<float>(size), rows, size});
            on.run(CrossEntropyKernel<T>{on.room<T>(rows * size), on.room<float>(rows), on.numbers<float>(rows * size),
                                         on.whole<int>(rows, size), rows, size, 0.25F});
            const std::int64_t queries = std::min<std::int64_t>(size, 3);
            const std::int64_t count = 2 * queries * size;
            on.run(CausalSoftmaxKernel<T>{on.room<T>(count), on.numbers<float>(count), 2, queries, size});
            on.run(CausalSoftmaxGradientKernel<T>{on.numbers<T>(count), on.numbers<float>(count), 2, queries, size,
                                                  0.125F});
        }
    }
}

template <class T>
void runKernelsOfColumns(const Sizes& sizes) {
    for (const std::int64_t size : sizes) {
        for (const std::int64_t rows : kRows) {
            for (const bool before : {false, true}) {
                Exact on;
                on.run(BiasGradientKernel<T>{on.numbers<float>(size), on.numbers<T>(rows * size), rows, size,
                                             on.sums(size, before)});
                on.run(NormWeightGradientKernel<T>{on.numbers<float>(size), on.numbers<float>(size),
                                                   on.numbers<T>(rows * size), on.numbers<T>(rows * size), rows, size,
                                                   on.sums(size, before), on.sums(size, before)});
            }
        }
    }
}

template <class T>
void runKernelsOfEmbeddings(const Sizes& widths) {
    constexpr int kVocabulary = 19;
    constexpr int kPositions = 130;
    for (const int length : {1, 5, 130}) {
        for (const std::int64_t width : widths) {
            for (const bool before : {false, true}) {
                Exact on;
                constexpr int kSequences = 3;
                const int begin = (kPositions - length) / 2;
                const std::int64_t tokens = kSequences * length;
                const int* const names = on.whole<int>(tokens, kVocabulary);
                on.run(EmbedKernel<T>{on.room<T>(tokens * width), names, on.numbers<float>(kVocabulary * width),
                                      on.numbers<float>(kPositions * width), tokens, width, kVocabulary, kPositions,
                                      begin, length});
                on.run(TokenTableGradientKernel<T>{on.numbers<float>(kVocabulary * width),
                                                   on.numbers<T>(tokens * width), names, tokens, width, kVocabulary,
                                                   on.sums(kVocabulary * width, before)});
                on.run(PositionTableGradientKernel<T>{on.numbers<float>(kPositions * width),
                                                      on.numbers<T>(tokens * width), width, kPositions, kSequences,
                                                      begin, length, on.sums(kPositions * width, before)});
            }
        }
    }
}

void runKernelsOfNumbers(const Sizes& sizes) {
    for (const std::int64_t size : sizes) {
        Exact on;
        on.run(AddKernel{on.numbers<float>(size), on.numbers<float>(size), size});
        on.run(FillKernel{on.room<float>(size), size, 3.0F});
        on.run(RoundKernel{on.room<Bf16>(size), on.numbers<float>(size), size});
        on.run(UniformKernel{on.room<float>(size), size, 99, 0.02F, 3, 7});
        on.run(LossKernel{on.room<double>(1), on.numbers<float>(size), size, 0.5});
        const unsigned char* const text = on.whole<unsigned char>(500, 256);
        const int length = static_cast<int>(size);
        on.run(TokensKernel{on.room<int>(2 * size), on.room<int>(2 * size), text, 500, 400, 1, 2, 3, 4, 2, 1, length});
    }
}

void runKernelsOfDigests(const Sizes& sizes) {
    for (const std::int64_t bytes : sizes) {
        for (const std::int64_t offset : {0, 3}) {
            Exact on;
            const unsigned char* const data = on.whole<unsigned char>(bytes + offset, 256) + offset;
            auto* const sum = on.room<std::uint64_t>(1);
            *sum = 0;
            DigestKernel kernel(sum);
            kernel.add(data, bytes);
            on.run(kernel);
            EXPECT_EQ(DigestKernel::digestOf(*sum, bytes), digest::of(data, static_cast<std::size_t>(bytes)));
        }
    }
}

/// One launch for a list of arrays, in the order of `sizes`.
void runDigestOfList(const Sizes& sizes) {
    Exact on;
    auto* const sums = on.room<std::uint64_t>(static_cast<std::int64_t>(sizes.size()));
    DigestKernel kernel(sums);
    std::vector<std::uint64_t> expected;
    for (const std::int64_t bytes : sizes) {
        const unsigned char* const data = on.whole<unsigned char>(bytes, 256);
        sums[expected.size()] = 0;
        expected.push_back(digest::of(data, static_cast<std::size_t>(bytes)));
        kernel.add(data, bytes);
    }
    on.run(kernel);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(DigestKernel::digestOf(sums[i], sizes.begin()[i]), expected[i]) << i;
}

// Rows and columns in which a thread has eight neighbours at a time, with arrays that are aligned for that and others:
// each must give the bits of the form, which does not depend on where arrays begin.

template <class T>
void runNormalisation(const Sizes& widths, std::int64_t rows) {
    for (const std::int64_t width : widths) {
        for (const std::int64_t misplaced : {0, 1}) {
            Exact on;
            on.misplaced = misplaced;
            const auto values = [&] { return on.numbers<T>(rows * width); };
            on.run(NormaliseKernel<T>{on.room<T>(rows * width), on.room<float>(rows), values(), rows, width});
            on.run(NormaliseAndScaleKernel<T>{{on.room<T>(rows * width), on.room<float>(rows), values(), rows, width},
                                              on.room<T>(rows * width),
                                              on.numbers<float>(width),
                                              on.numbers<float>(width)});
            on.run(ScaleKernel<T>{on.room<T>(rows * width), values(), on.numbers<float>(width),
                                  on.numbers<float>(width), rows, width});
            for (T* const beside : {static_cast<T*>(nullptr), values()})
                on.run(NormGradientKernel<T>{on.room<T>(rows * width), beside, values(), values(),
                                             on.positive<float>(rows), on.numbers<float>(width), rows, width});
        }
    }
}

template <class T>
void runColumnSums(const Sizes& widths, const Sizes& heights) {
    for (const std::int64_t width : widths) {
        for (const std::int64_t rows : heights) {
            for (const std::int64_t misplaced : {0, 1}) {
                Exact on;
                on.misplaced = misplaced;
                const bool before = rows % 2 == 1;
                on.run(BiasGradientKernel<T>{on.numbers<float>(width), on.numbers<T>(rows * width), rows, width,
                                             on.sums(width, before)});
                on.run(NormWeightGradientKernel<T>{on.numbers<float>(width), on.numbers<float>(width),
                                                   on.numbers<T>(rows * width), on.numbers<T>(rows * width), rows,
                                                   width, on.sums(width, before), on.sums(width, before)});
            }
        }
    }
}

template <class T>
class KernelCode : public testing::Test {};

using Storages = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(KernelCode, Storages);

TYPED_TEST(KernelCode, OfElements) {
    runKernelsOfElements<TypeParam>(kSizes);
}

TYPED_TEST(KernelCode, OfRows) {
    runKernelsOfRows<TypeParam>(kSizes);
}

TYPED_TEST(KernelCode, OfColumns) {
    runKernelsOfColumns<TypeParam>({1, 33, 65});
}

/// Widths around those of a run, of a warp's and of a block's runs, and of the longest rows that are held.
TYPED_TEST(KernelCode, OfNeighboursInRows) {
    runNormalisation<TypeParam>({1, 7, 8, 9, 16, 248, 256, 264, 768, 1000, 1020, 1024, 1032, 1600}, 5);
    runNormalisation<TypeParam>({8, 776}, 9);
    runNormalisation<TypeParam>({2048, 4088, 4096, 4100, 4104}, 2);
}

/// Heights around the lanes of a column and the rows that a lane adds at once.
TYPED_TEST(KernelCode, OfNeighboursInColumns) {
    runColumnSums<TypeParam>({3, 8, 13, 16, 24, 40}, {1, 2, 257});
    runColumnSums<TypeParam>({13}, {255, 256, 1023, 1024, 1300});
}

TYPED_TEST(KernelCode, OfEmbeddings) {
    runKernelsOfEmbeddings<TypeParam>({1, 33, 257});
}

TEST(KernelCodeOfOneType, OfNumbers) {
    runKernelsOfNumbers(kSizes);
}

TEST(KernelCodeOfOneType, OfDigests) {
    constexpr std::int64_t kBlock = DigestKernel::kBlock * DigestKernel::kRun * DigestKernel::kWord;
    runKernelsOfDigests({0, 1, 7, 8, 2055, kBlock, kBlock + 9});
    runDigestOfList({0, 5, 0, kBlock + 9, 8, kBlock, 2 * kBlock + 1, 0, 1, 0});
    runDigestOfList(std::vector<std::int64_t>(DigestKernel::kArrays, 17));
}

/// The tests above leave out none.
TEST(KernelCodeOfOneType, IsRunOfEveryKernel) {
    runKernelsOfElements<float>({5});
    runKernelsOfElements<Bf16>({5});
    runKernelsOfRows<float>({5});
    runKernelsOfRows<Bf16>({5});
    runKernelsOfColumns<float>({5});
    runKernelsOfColumns<Bf16>({5});
    runKernelsOfEmbeddings<float>({5});
    runKernelsOfEmbeddings<Bf16>({5});
    runKernelsOfNumbers({5});
    runKernelsOfDigests({5});
#define BUBBLESCOPE_COUNTED(Kernel) EXPECT_GT(KernelLog::get().launches(#Kernel), 0) << #Kernel;
    BUBBLESCOPE_KERNELS(BUBBLESCOPE_COUNTED)
#undef BUBBLESCOPE_COUNTED
}

TEST(KernelCodeOfOneType, HoldsAStreamUntilTheTimeHasPassed) {
    std::uint64_t stamp = 0;
    stampOnGpu(&stamp, nullptr);
    EXPECT_GT(stamp, 0U);
    constexpr std::uint64_t kLength = 10'000;
    holdOnGpu(&stamp, kLength, nullptr);
    std::uint64_t after = 0;
    stampOnGpu(&after, nullptr);
    EXPECT_GE(after, stamp + kLength);
    EXPECT_LT(after, stamp + 2 * kLength);
    EXPECT_TRUE(cuda_shim::takeFaults().empty());
}

TEST(KernelCodeOfOneType, AllAreLoadedTogether) {
    EXPECT_EQ(loadKernels(), cudaSuccess);
}

} // namespace
} // namespace bubblescope::runtime::test
