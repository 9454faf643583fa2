#include "profiler/events/overwriting_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace bubblescope::profiler {
namespace {

constexpr std::size_t kWords = 5;
using Ring = OverwritingRing<kWords>;

/// A record that states its number in every word, so that a torn one shows.
void push(Ring& ring, std::uint64_t number) {
    ring.push([number](std::size_t) { return number; });
}

struct Drained {
    std::vector<std::uint64_t> records;
    std::vector<bool> after_gap;
    std::int64_t lost = 0;
};

Drained drain(Ring& ring) {
    Drained out;
    out.lost = ring.drain([&](std::span<const std::uint64_t> words, bool after_gap) {
        out.records.push_back(words.front());
        out.after_gap.push_back(after_gap);
    });
    return out;
}

TEST(OverwritingRing, KeepsTheNewestAndCountsTheRest) {
    Ring ring(16);
    for (std::uint64_t i = 1; i <= 100; ++i)
        push(ring, i);
    EXPECT_EQ(ring.dropped(), 84);
    const Drained got = drain(ring);
    ASSERT_EQ(got.records.size(), 16U);
    EXPECT_EQ(got.lost, 84);
    EXPECT_EQ(got.records.front(), 85U);
    EXPECT_EQ(got.records.back(), 100U);
    EXPECT_TRUE(got.after_gap.front());
    EXPECT_FALSE(got.after_gap.back());
    push(ring, 101);
    const Drained more = drain(ring);
    EXPECT_EQ(more.lost, 0);
    EXPECT_FALSE(more.after_gap.front());
}

TEST(OverwritingRing, LosesNothingUncountedAndTearsNothingBetweenTwoThreads) {
    constexpr std::uint64_t kRecords = 200'000;
    Ring ring(64);
    std::atomic<bool> done{false};
    std::uint64_t seen = 0;
    std::uint64_t last = 0;
    std::int64_t lost = 0;
    bool torn = false;
    bool disordered = false;
    bool gap_untold = false;
    std::thread reader([&] {
        bool more = true;
        while (more) {
            more = !done.load();
            lost += ring.drain([&](std::span<const std::uint64_t> words, bool after_gap) {
                const std::uint64_t number = words[0];
                for (const std::uint64_t word : words)
                    torn = torn || word != number;
                disordered = disordered || number <= last;
                gap_untold = gap_untold || (number != last + 1 && !after_gap);
                last = number;
                ++seen;
            });
        }
    });
    for (std::uint64_t i = 1; i <= kRecords; ++i)
        push(ring, i);
    done = true;
    reader.join();
    EXPECT_FALSE(torn);
    EXPECT_FALSE(disordered);
    EXPECT_FALSE(gap_untold);
    EXPECT_EQ(seen + static_cast<std::uint64_t>(lost), kRecords);
}

} // namespace
} // namespace bubblescope::profiler
