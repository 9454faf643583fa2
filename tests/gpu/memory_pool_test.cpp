#include "runtime/accelerator/memory_pool.h"
#include "tests/support/emulated_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

namespace bubblescope::runtime::test {
namespace {

class Pool : public testing::Test {
protected:
    EmulatedDevice device_{5};
    Accelerator::Stream home_ = device_.makeStream();
    Accelerator::Stream other_ = device_.makeStream();
    std::optional<MemoryPool> pool_{std::in_place, device_, home_};
};

TEST_F(Pool, UsesFreedMemoryAgainWithoutWaiting) {
    Buffer first = pool_->take(1000);
    void* const data = first.as<void>();
    EXPECT_EQ(first.bytes(), 1000);
    first = Buffer();
    const Buffer second = pool_->take(1010);
    EXPECT_EQ(second.as<void>(), data) << "sizes that differ little share memory";
    EXPECT_NE(pool_->take(1000).as<void>(), data) << "it is taken";
    EXPECT_EQ(device_.allocations(), 2);
    EXPECT_EQ(device_.hostWaits(), 0);
    EXPECT_TRUE(pool_->take(0).empty());
}

TEST_F(Pool, SharesMemoryWithinASizeClassOfOneSixteenth) {
    for (std::int64_t bytes = 1; bytes < (1 << 24); bytes += 1 + bytes / 3) {
        MemoryPool pool(device_, home_);
        void* first = nullptr;
        {
            const Buffer buffer = pool.take(bytes);
            first = buffer.as<void>();
        }
        const std::int64_t capacity = pool.reserved();
        EXPECT_GE(capacity, bytes);
        EXPECT_LE(capacity, std::max<std::int64_t>((bytes + 511) / 512 * 512, bytes + bytes / 16)) << bytes;
        EXPECT_EQ(pool.take(capacity).as<void>(), first) << "the largest of the class";
    }
}

TEST_F(Pool, CountsWhatIsUsedAndItsPeak) {
    Buffer a = pool_->take(512);
    {
        const Buffer b = pool_->take(1024);
        EXPECT_EQ(pool_->inUse(), 1536);
    }
    EXPECT_EQ(pool_->inUse(), 512);
    EXPECT_EQ(pool_->peak(), 1536);
    EXPECT_EQ(pool_->reserved(), 1536);
    const Buffer moved = std::move(a);
    EXPECT_EQ(pool_->inUse(), 512) << "moving frees nothing";
}

TEST_F(Pool, WhatAnotherStreamUsedLastIsOverwrittenOnlyAfterIt) {
    // The reader is held back by an event that occurs late; the next owner must not write before it has read.
    for (unsigned seed = 0; seed < 20; ++seed) {
        EmulatedDevice device(seed);
        Accelerator::Stream home = device.makeStream();
        Accelerator::Stream reader = device.makeStream();
        MemoryPool pool(device, home, 0);
        Buffer result = pool.take(4);
        device.zero(result.as<void>(), 4, home);
        Accelerator::Event filled = device.makeEvent(false);
        {
            Buffer data = pool.take(4096);
            device.launch(FillKernel{data.as<float>(), 1024, 1.0F}, home);
            device.record(filled, home);
            device.wait(reader, filled);
            device.copy(result.as<void>(), data.as<float>() + 7, 4, reader);
            data.usedOn(reader);
        }
        const Buffer next = pool.take(4096);
        device.launch(FillKernel{next.as<float>(), 1024, 2.0F}, home);
        device.finish(home);
        device.finish(reader);
        EXPECT_EQ(*result.as<float>(), 1.0F) << seed;
        EXPECT_EQ(next.as<float>()[7], 2.0F);
    }
}

TEST_F(Pool, KeepsSharedMemoryUntilTheLastOwnerIsGone) {
    Buffer first = pool_->take(1000);
    void* const data = first.as<void>();
    EXPECT_FALSE(first.shared());
    Buffer second = first.share();
    EXPECT_EQ(second.as<void>(), data);
    EXPECT_EQ(second.bytes(), 1000);
    EXPECT_TRUE(first.shared());
    Buffer third = second.share();
    first = Buffer();
    EXPECT_TRUE(third.shared());
    EXPECT_NE(pool_->take(1000).as<void>(), data);
    third = Buffer();
    EXPECT_FALSE(second.shared());
    EXPECT_GT(pool_->inUse(), 0);
    second = Buffer();
    EXPECT_EQ(pool_->inUse(), 0);
    const Buffer again = pool_->take(1000);
    const Buffer another = pool_->take(1000);
    EXPECT_TRUE(again.as<void>() == data || another.as<void>() == data);
    EXPECT_EQ(device_.allocations(), 2);
    EXPECT_TRUE(Buffer().share().empty());
}

// The owner that another stream used may go first: the memory must not be written before that stream has read it.
TEST_F(Pool, WhatAnOwnerUsedElsewhereIsOverwrittenOnlyAfterIt) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        for (const bool reader_first : {false, true}) {
            EmulatedDevice device(seed);
            Accelerator::Stream home = device.makeStream();
            Accelerator::Stream reader = device.makeStream();
            Accelerator::Stream other = device.makeStream();
            MemoryPool pool(device, home, 0);
            const Buffer results = pool.take(8);
            device.zero(results.as<void>(), 8, home);
            Accelerator::Event filled = device.makeEvent(false);
            {
                Buffer data = pool.take(4096);
                device.launch(FillKernel{data.as<float>(), 1024, 1.0F}, home);
                device.record(filled, home);
                Buffer kept = data.share();
                Buffer third = data.share();
                for (Accelerator::Stream stream : {reader, other})
                    device.wait(stream, filled);
                device.copy(results.as<float>(), data.as<float>() + 7, 4, reader);
                device.copy(results.as<float>() + 1, data.as<float>() + 9, 4, other);
                (reader_first ? data : kept).usedOn(reader);
                third.usedOn(other);
                third = Buffer();
                data = Buffer();
            }
            const Buffer next = pool.take(4096);
            device.launch(FillKernel{next.as<float>(), 1024, 2.0F}, home);
            for (Accelerator::Stream stream : {home, reader, other})
                device.finish(stream);
            EXPECT_EQ(results.as<float>()[0], 1.0F) << seed;
            EXPECT_EQ(results.as<float>()[1], 1.0F) << seed;
            EXPECT_EQ(next.as<float>()[7], 2.0F);
        }
    }
}

TEST_F(Pool, LeavesMemoryThatOthersUseAloneForAWhile) {
    MemoryPool pool(device_, home_, 2);
    std::vector<void*> freed;
    for (int i = 0; i < 3; ++i) {
        Buffer buffer = pool.take(100);
        buffer.usedOn(other_);
        freed.push_back(buffer.as<void>());
    }
    const Buffer oldest = pool.take(100);
    EXPECT_EQ(oldest.as<void>(), freed[0]);
    const Buffer fresh = pool.take(100);
    EXPECT_EQ(std::count(freed.begin(), freed.end(), fresh.as<void>()), 0);
    device_.finish(other_);
}

TEST_F(Pool, GivesBackOtherSizesWhereMemoryIsShort) {
    device_.capacity = 1 << 20;
    { const Buffer large = pool_->take(700'000); }
    const Buffer other = pool_->take(900'000);
    EXPECT_FALSE(other.empty());
    EXPECT_EQ(pool_->reserved(), pool_->inUse()) << "the other size is gone";
    EXPECT_THROW((void)pool_->take(900'000), std::runtime_error);
}

TEST_F(Pool, LeavesNothingBehind) {
    {
        Buffer buffer = pool_->take(100);
        buffer.usedOn(other_);
    }
    EXPECT_EQ(device_.events(), 1);
    device_.finish(other_);
    pool_.reset();
    EXPECT_EQ(device_.allocated(), 0);
    EXPECT_EQ(device_.events(), 0);
}

} // namespace
} // namespace bubblescope::runtime::test
