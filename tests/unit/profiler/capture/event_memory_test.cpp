#include "profiler/events/event_memory.h"

#include "profiler/events/host_recorder.h"
#include "tests/support/recorded_memory.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope::profiler {
namespace {

using test::RecordedMemory;

TEST(EventMemory, LosesNothingUncountedAndTearsNothingBetweenThreads) {
    constexpr int kThreads = 4;
    constexpr int kRanges = 20'000;
    RecordedMemory memory(std::size_t{256} << 10); // too little for all, so that there are gaps
    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < kRanges; ++i) {
                memory.recorder().push("range " + std::to_string(i), 0);
                memory.recorder().pop(0);
            }
            --running;
        });
    }
    std::map<std::uint32_t, int> last;
    std::int64_t pushes = 0;
    bool disordered = false;
    bool gap_untold = false;
    std::map<std::uint32_t, bool> gaps;
    const auto take = [&](std::uint32_t tid, const HostRecord& record, bool after_gap) {
        gaps[tid] = gaps[tid] || after_gap;
        if (record.type != HostRecord::Type::Push) return;
        const bool gap = std::exchange(gaps[tid], false);
        ++pushes;
        const int number = std::stoi(std::string(record.text.substr(6)));
        const auto [known, fresh] = last.try_emplace(tid, -1);
        disordered = disordered || number <= known->second;
        gap_untold = gap_untold || (number > known->second + 1 && !gap);
        known->second = number;
    };
    while (running > 0)
        memory.drain(take);
    for (std::thread& thread : threads)
        thread.join();
    const std::int64_t lost = memory.drain(take);
    EXPECT_FALSE(disordered);
    EXPECT_FALSE(gap_untold);
    EXPECT_EQ(pushes + lost, std::int64_t{kThreads} * kRanges);
    EXPECT_EQ(memory.memory().fullness(), 0) << "all chunks are back";
}

TEST(EventMemory, HoldsABurstOfAMillionRangesInTheUsualSize) {
    RecordedMemory memory(std::size_t{128} << 20);
    constexpr std::int64_t kRanges = 1'000'000;
    for (std::int64_t i = 0; i < kRanges; ++i) {
        memory.recorder().push("2F13", 1);
        memory.recorder().pop(1);
    }
    EXPECT_LT(memory.memory().fullness(), 0.5);
    std::int64_t records = 0;
    EXPECT_EQ(memory.drain([&](std::uint32_t, const HostRecord&, bool) { ++records; }), 0);
    EXPECT_EQ(records, 2 * kRanges);
}

TEST(EventMemory, MoreThreadsThanItHasRoomForAreCounted) {
    RecordedMemory memory(std::size_t{64} << 10); // two chunks
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
        threads.emplace_back([&] {
            memory.recorder().push("one", 0);
            ++ready;
            while (!go)
                std::this_thread::yield();
        });
    }
    while (ready < 6)
        std::this_thread::yield();
    std::int64_t records = 0;
    const std::int64_t lost = memory.drain([&](std::uint32_t, const HostRecord&, bool) { ++records; });
    go = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(records + lost, 6);
    EXPECT_EQ(records, 2);
}

/// A fork that no handler knows of.
pid_t bareFork() {
    return static_cast<pid_t>(::syscall(SYS_fork));
}

TEST(HostRecorder, AForkedChildDoesNothingUntilItRecordsAndThenAsksForItsOwnMemory) {
    for (const bool bare : {false, true}) {
        const auto first = EventMemory::createShared(std::size_t{1} << 20);
        std::atomic<int> begun{0};
        std::unique_ptr<EventMemory> second;
        HostRecorder recorder([&](bool forked) {
            ++begun;
            if (!forked) return first.get();
            second = EventMemory::create(std::size_t{1} << 20);
            return second.get();
        });
        recorder.push("of the parent", 0);
        if (!bare) recorder.beforeFork();
        const pid_t child = bareFork();
        if (child == 0) {
            if (!bare) recorder.afterForkInChild();
            const bool nothing = begun == 1 && recorder.memory() == nullptr;
            recorder.push("of the child", 0);
            const bool own = begun == 2 && recorder.memory() == second.get() && second->header().slots_used == 1;
            ::_exit(nothing && own ? 0 : 1);
        }
        if (!bare) recorder.afterForkInParent();
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(WEXITSTATUS(status), 0) << bare;
        int records = 0;
        EventReader reader(*first, EventReader::From::Begin);
        while (reader.read(100, [&](std::uint32_t, std::span<const std::uint64_t> words, bool) {
            ++records;
            return host_record::wordsOf(words[0]);
        })) {
        }
        EXPECT_EQ(records, 1) << "the child does not write into its parent's memory";
    }
}

TEST(EventReader, DamagedMemoryEndsAThreadsRecords) {
    const auto damaged = [](auto&& damage) {
        RecordedMemory memory;
        for (int i = 0; i < 5'000; ++i)
            memory.recorder().push("some name", 0);
        damage(memory.memory());
        int records = 0;
        memory.drain([&](std::uint32_t, const HostRecord&, bool) { ++records; });
        return records;
    };
    EXPECT_EQ(damaged([](EventMemory&) {}), 5'000);
    EXPECT_EQ(damaged([](EventMemory& memory) {
                  memory.header().threads[0].begin = event_memory::Place{1U << 30, 1}.packed();
              }),
              0);
    EXPECT_LT(damaged([](EventMemory& memory) { memory.words(0)[0] = std::uint64_t{1} << 50 | 4'000'000; }), 5'000);
    EXPECT_LT(damaged([](EventMemory& memory) { memory.words(0)[0] = std::uint64_t{1} << 32 | 4'000; }), 10'000'000)
        << "a circle ends";
    EXPECT_LT(damaged([](EventMemory& memory) { memory.words(0)[1 + 4 * 25] = 0xff'00'00U | 0x01U; }), 5'000)
        << "a record that is longer than what was written of the chunk, or that takes others' words";
}

} // namespace
} // namespace bubblescope::profiler
