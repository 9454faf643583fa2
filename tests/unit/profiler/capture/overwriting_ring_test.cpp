#include "profiler/events/overwriting_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace bubblescope::profiler {
namespace {

using Words = std::vector<std::uint64_t>;

/// A record that says its number in every word, so that a torn one shows.
Words numbered(std::uint64_t number, std::size_t words) {
    return Words(words, number);
}

struct Drained {
    std::vector<Words> records;
    std::vector<bool> after_gap;
    std::int64_t lost = 0;
};

Drained drain(EventRing& ring) {
    Drained out;
    out.lost = ring.drain([&](std::span<const std::uint64_t> words, bool after_gap) {
        out.records.emplace_back(words.begin(), words.end());
        out.after_gap.push_back(after_gap);
    });
    return out;
}

TEST(OverwritingRing, GivesBackRecordsOfAnyLengthInOrder) {
    EventRing ring(64);
    std::uint64_t next = 1;
    for (int round = 0; round < 20; ++round) {
        const std::uint64_t first = next;
        for (const std::size_t words : {std::size_t{1}, EventRing::kSlotWords, EventRing::kSlotWords + 1})
            ring.push(numbered(next++, words));
        const Drained got = drain(ring);
        ASSERT_EQ(got.records.size(), 3U);
        EXPECT_EQ(got.lost, 0);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(got.records[i].front(), first + i);
            EXPECT_FALSE(got.after_gap[i]);
        }
        EXPECT_EQ(got.records[2].size(), 2 * EventRing::kSlotWords);
        EXPECT_EQ(got.records[2][EventRing::kSlotWords], first + 2);
    }
}

TEST(OverwritingRing, KeepsTheNewestAndCountsTheRest) {
    EventRing ring(16);
    for (std::uint64_t i = 1; i <= 100; ++i)
        ring.push(numbered(i, 1));
    const Drained got = drain(ring);
    ASSERT_EQ(got.records.size(), 16U);
    EXPECT_EQ(got.lost, 84);
    EXPECT_EQ(got.records.front().front(), 85U);
    EXPECT_EQ(got.records.back().front(), 100U);
    EXPECT_TRUE(got.after_gap.front());
    EXPECT_FALSE(got.after_gap.back());
    ring.push(numbered(101, 1));
    const Drained more = drain(ring);
    EXPECT_EQ(more.lost, 0);
    EXPECT_FALSE(more.after_gap.front());
}

TEST(OverwritingRing, LosesLongRecordsAsAWhole) {
    EventRing ring(16);
    const std::size_t words = 3 * EventRing::kSlotWords;
    for (std::uint64_t i = 1; i <= 10; ++i)
        ring.push(numbered(i, words));
    const Drained got = drain(ring);
    ASSERT_EQ(got.records.size(), 5U) << "five of three slots fit sixteen";
    EXPECT_EQ(got.lost, 5);
    for (std::size_t i = 0; i < 5; ++i)
        EXPECT_EQ(got.records[i], numbered(6 + i, words));
}

TEST(OverwritingRing, LosesNothingUncountedAndTearsNothingBetweenTwoThreads) {
    constexpr std::uint64_t kRecords = 200'000;
    EventRing ring(64);
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
                const std::size_t filled = 1 + number % (2 * EventRing::kSlotWords);
                for (std::size_t w = 0; w < filled; ++w)
                    torn = torn || words[w] != number;
                disordered = disordered || number <= last;
                gap_untold = gap_untold || (number != last + 1 && !after_gap);
                last = number;
                ++seen;
            });
        }
    });
    std::array<std::uint64_t, 2 * EventRing::kSlotWords> words{};
    for (std::uint64_t i = 1; i <= kRecords; ++i) {
        words.fill(i);
        ring.push(std::span(words).first(1 + i % words.size()));
    }
    done = true;
    reader.join();
    EXPECT_FALSE(torn);
    EXPECT_FALSE(disordered);
    EXPECT_FALSE(gap_untold);
    EXPECT_EQ(seen + static_cast<std::uint64_t>(lost), kRecords);
    EXPECT_EQ(last, kRecords);
}

} // namespace
} // namespace bubblescope::profiler
