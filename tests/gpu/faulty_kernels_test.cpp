// That faults in kernels are found at all, where every access to memory is reported.

#include "tests/support/cuda_shim/faulty_kernels.h"
#include "tests/support/cuda_shim/launch.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

class FaultyKernels : public testing::Test {
protected:
    void SetUp() override { cuda_shim::use({cuda_shim::Turns::Ascending, 1, {{values_.data(), sizeof values_}}}); }
    [[nodiscard]] static std::string only(const std::vector<std::string>& faults) {
        return faults.size() == 1 ? faults.front() : std::to_string(faults.size()) + " faults";
    }
    std::array<int, 128> values_{};
};

TEST_F(FaultyKernels, TwoThreadsWriteTheSame) {
    cuda_shim::writeAllToOne(values_.data(), 1, 2);
    EXPECT_EQ(only(cuda_shim::takeFaults()),
              "two threads used the same global memory with no barrier in between, one of them to write");
    cuda_shim::writeAllToOne(values_.data(), 2, 1); // of different blocks
    EXPECT_EQ(only(cuda_shim::takeFaults()),
              "two threads used the same global memory with no barrier in between, one of them to write");
    cuda_shim::writeAllToOne(values_.data(), 1, 1);
    EXPECT_TRUE(cuda_shim::takeFaults().empty());
}

TEST_F(FaultyKernels, ABarrierIsMissing) {
    for (const bool before : {true, false}) {
        for (const bool after : {true, false}) {
            cuda_shim::reverseInShared(values_.data(), 64, before, after);
            EXPECT_EQ(cuda_shim::takeFaults().empty(), before && after) << before << after;
        }
    }
}

// A GPU does not start such a grid, so that its results would be missing.
TEST_F(FaultyKernels, AGridIsEmptyOrTooLarge) {
    for (const auto& [blocks, threads] : {std::pair{0U, 64U}, {1U, 0U}, {1U, 1025U}}) {
        EXPECT_THROW(cuda_shim::launchNothing(blocks, threads), std::logic_error) << blocks << ", " << threads;
    }
    cuda_shim::launchNothing(1, 1024);
}

TEST_F(FaultyKernels, ABarrierIsNotForAll) {
    cuda_shim::divergentBarrier(64);
    EXPECT_EQ(only(cuda_shim::takeFaults()), "a barrier or an exchange was not reached by all threads");
}

} // namespace
} // namespace bubblescope::runtime::test
