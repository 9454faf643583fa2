#include "core/base/beside.h"
#include "core/base/core_count.h"
#include "core/base/parallel.h"
#include "tests/support/child_process.h"
#include "tests/support/sanitized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

std::vector<int> numbersUpTo(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

TEST(ParallelFor, CallsEachOnce) {
    std::vector<int> calls(10'000);
    parallelFor(calls.size(), [&calls](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(10'000, 1));
    parallelFor(0, [](std::size_t) { ADD_FAILURE(); });
}

/// So many calls that a loop over them ends only if it is stopped.
constexpr std::size_t kEndless = std::size_t{1} << 60;

TEST(ParallelFor, EndsEarlyWhenToldTo) {
    EXPECT_FALSE(parallelFor(kEndless, [](std::size_t i) { return i != 10; }));
    EXPECT_TRUE(parallelFor(100, [](std::size_t) { return true; }));
}

TEST(ParallelFor, PassesOnWhatIsThrownAndEndsEarly) {
    EXPECT_THROW(parallelFor(kEndless,
                             [](std::size_t i) {
                                 if (i == 10) throw std::runtime_error("no");
                             }),
                 std::runtime_error);
}

TEST(ParallelForBeside, CallsEachOnceAndItsOwnFirst) {
    for (const std::size_t count : {0U, 1U, 2U, 10'000U}) {
        std::vector<int> calls(count);
        std::vector<int> here; // of the calling thread; −1 is its own work
        const std::thread::id caller = std::this_thread::get_id();
        parallelForBeside(
            count,
            [&](std::size_t i) {
                ++calls[i];
                if (std::this_thread::get_id() == caller) here.push_back(static_cast<int>(i));
            },
            [&] {
                EXPECT_EQ(std::this_thread::get_id(), caller);
                here.push_back(-1);
            });
        EXPECT_EQ(calls, std::vector<int>(count, 1));
        EXPECT_EQ(std::ranges::count(here, -1), 1);
        EXPECT_EQ(here.front(), -1);
    }
}

TEST(ParallelForBeside, PassesOnWhatIsThrown) {
    const auto nothing = [] {};
    const auto fail = [] { throw std::runtime_error("no"); };
    EXPECT_THROW(parallelForBeside(
                     100, [&](std::size_t i) { i == 10 ? fail() : nothing(); }, nothing),
                 std::runtime_error);
    EXPECT_THROW(parallelForBeside(
                     100, [&](std::size_t) { nothing(); }, fail),
                 std::runtime_error);
}

// The threads' stacks find no room.
TEST(ParallelFor, DoesWithoutThreadsThatCannotBeStarted) {
    if (test::kSanitized) GTEST_SKIP() << "sanitizers need all addresses";
    const test::ChildResult result = test::inChild([] {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t most = pages * 4096 + (rlim_t{4} << 20); // a stack takes eight
        const rlimit limit{most, most};
        ::setrlimit(RLIMIT_AS, &limit);
        std::vector<int> calls(1000);
        for (int i = 0; i < 10; ++i)
            parallelFor(calls.size(), [&calls](std::size_t k) { ++calls[k]; });
        return calls == std::vector<int>(1000, 10) ? std::string("each") : std::string("not each");
    });
    EXPECT_EQ(result.exit_code, 0) << "signal " << result.signal;
    EXPECT_EQ(result.said, "each");
}

/// In a forked process, such as a worker of Python's multiprocessing, none of the threads is left.
TEST(ParallelFor, HasThreadsInAForkedProcess) {
    if (test::kSanitized) GTEST_SKIP() << "the thread sanitizer starts none there";
    parallelFor(100, [](std::size_t) { std::this_thread::yield(); });
    const test::ChildResult result = test::inChild([] {
        const std::size_t threads = std::min<std::size_t>(2, coreCount());
        std::latch meet(static_cast<std::ptrdiff_t>(threads));
        parallelFor(threads, [&meet](std::size_t) { meet.arrive_and_wait(); });
        return std::string("two threads");
    });
    EXPECT_EQ(result.exit_code, 0) << "signal " << result.signal;
    EXPECT_EQ(result.said, "two threads");
}

TEST(ParallelFor, MayBeNested) {
    std::vector<std::vector<int>> calls(50, std::vector<int>(200));
    parallelFor(calls.size(), [&calls](std::size_t row) {
        parallelFor(calls[row].size(), [&calls, row](std::size_t i) { calls[row][i] = static_cast<int>(row * i); });
    });
    for (std::size_t row = 0; row < calls.size(); ++row)
        EXPECT_EQ(calls[row].back(), static_cast<int>(row) * 199);
}

TEST(ParallelCalls, CallsEachOnceAndPassesOnWhatIsThrown) {
    std::atomic<int> first{0};
    std::atomic<int> second{0};
    parallelCalls([&] { ++first; }, [&] { second += 2; });
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 2);
    EXPECT_THROW(parallelCalls([&] { ++first; }, [] { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST(ParallelPieces, CoverEachItemOnce) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, kParallelItems, kParallelItems + 1, 5 * kParallelItems - 1}) {
        std::vector<int> seen(count);
        parallelPieces(count, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                ++seen[i];
        });
        EXPECT_EQ(seen, std::vector<int>(count, 1));
    }
}

TEST(ParallelPieces, GiveTheirResultsInOrder) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{7}, kParallelItems, 3 * kParallelItems, 3 * kParallelItems + 1}) {
        const auto pieces =
            parallelPieces(count, [](std::size_t begin, std::size_t end) { return std::pair(begin, end); });
        ASSERT_FALSE(pieces.empty());
        std::size_t next = 0;
        for (const auto& [begin, end] : pieces) {
            EXPECT_EQ(begin, next) << count;
            next = end;
        }
        EXPECT_EQ(next, count);
    }
}

TEST(ParallelGroups, FewItemsStayOnTheCallingThread) {
    const auto here = std::this_thread::get_id();
    std::vector<int> seen(100);
    parallelGroups(seen.size(), 100, [&](std::size_t i) {
        ++seen[i];
        EXPECT_EQ(std::this_thread::get_id(), here);
    });
    EXPECT_EQ(seen, std::vector<int>(100, 1));
    parallelGroups(seen.size(), 10 * kParallelItems, [&](std::size_t i) { ++seen[i]; });
    EXPECT_EQ(seen, std::vector<int>(100, 2));
}

TEST(OrderedTasks, GivesResultsInOrder) {
    OrderedTasks<std::string> tasks;
    for (int i = 0; i < 8; ++i)
        tasks.add([i] { return std::to_string(i); });
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(tasks.take(), std::to_string(i));
        tasks.add([next = i + 8] { return std::to_string(next); });
    }
    EXPECT_EQ(tasks.size(), 8U);
}

TEST(OrderedTasks, PassesOnWhatATaskThrowsInItsTurn) {
    OrderedTasks<int> tasks;
    tasks.add([] { return 1; });
    tasks.add([]() -> int { throw std::runtime_error("two"); });
    tasks.add([] { return 3; });
    EXPECT_EQ(tasks.take(), 1);
    EXPECT_THROW((void)tasks.take(), std::runtime_error);
    EXPECT_EQ(tasks.take(), 3);
}

TEST(OrderedTasks, EndsWithWhatRunsAndWithoutWhatHasNotBegun) {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    std::latch gate{1}; // nothing ends before, so a thread begins one task at most
    {
        OrderedTasks<int> tasks;
        const std::size_t count = 10 * coreCount();
        for (std::size_t i = 0; i < count; ++i) {
            tasks.add([&] {
                ++begun;
                gate.wait();
                return ++ended;
            });
        }
        while (tasks.size() > 1)
            tasks.drop();
        gate.count_down();
        EXPECT_GT(tasks.take(), 0);
    }
    EXPECT_EQ(begun, ended);
    EXPECT_LE(static_cast<std::size_t>(begun), coreCount() + 2) << "those of the threads, and the one that was taken";
}

// A thread that waits computes what it waits for, so nothing hangs however few threads there are.
TEST(OrderedTasks, MayBeNested) {
    OrderedTasks<int> outer;
    for (int i = 0; i < 100; ++i) {
        outer.add([] {
            OrderedTasks<int> inner;
            for (int j = 0; j < 20; ++j)
                inner.add([j] { return j; });
            int sum = 0;
            while (inner.size() > 0)
                sum += inner.take();
            return sum;
        });
    }
    while (outer.size() > 0)
        EXPECT_EQ(outer.take(), 190);
}

using Batch = std::vector<int>;

/// Batches of ten equal numbers: first, first + step, … below `end`; `made` counts them.
BatchMaker<Batch> counting(int first, int end, int step = 1, std::atomic<int>* made = nullptr) {
    return [=, next = first](Batch& batch) mutable {
        if (next >= end) return false;
        batch.assign(10, next);
        next += step;
        if (made != nullptr) ++*made;
        return true;
    };
}

TEST(Prefetched, HandsOverAllInOrder) {
    std::vector<int> seen;
    prefetched<Batch>({counting(0, 1001)}, [&seen](const Batch& batch) {
        EXPECT_EQ(batch.size(), 10U);
        EXPECT_EQ(batch.front(), batch.back());
        seen.push_back(batch.front());
        return true;
    });
    EXPECT_EQ(seen, numbersUpTo(1001));
}

TEST(Prefetched, StopsTheMakerWhenNoMoreIsWanted) {
    std::atomic<int> made{0};
    int used = 0;
    prefetched<Batch>({counting(0, 1'000'000, 1, &made)}, [&used](const Batch&) { return ++used < 3; });
    EXPECT_EQ(used, 3);
    EXPECT_LT(made, 100) << "the maker is never more than a few batches ahead";
}

TEST(Prefetched, PassesOnWhatEitherThrows) {
    int used = 0;
    const BatchMaker<Batch> fail = [make = counting(0, 2)](Batch& batch) {
        if (!make(batch)) throw std::runtime_error("made badly");
        return true;
    };
    EXPECT_THROW(prefetched<Batch>({fail}, [&used](const Batch&) { return ++used > 0; }), std::runtime_error);
    EXPECT_EQ(used, 2) << "what was made before is used";
    EXPECT_THROW(
        prefetched<Batch>({counting(0, 1'000'000)}, [](const Batch&) -> bool { throw std::logic_error("used badly"); }),
        std::logic_error);
}

TEST(Prefetched, TakesTurnsAmongMakers) {
    std::vector<int> seen;
    prefetched<Batch>({counting(0, 101, 2), counting(1, 101, 2)}, [&seen](const Batch& batch) {
        seen.push_back(batch.front());
        return true;
    });
    EXPECT_EQ(seen, numbersUpTo(101)) << "it ends with the first whose turn it is and that has no more";
}

TEST(Prefetched, MayMakeNothing) {
    const auto use = [](const Batch&) {
        ADD_FAILURE() << "nothing was made";
        return true;
    };
    prefetched<Batch>({[](Batch&) { return false; }}, use);
    prefetched<Batch>({}, use);
}

} // namespace
} // namespace bubblescope
