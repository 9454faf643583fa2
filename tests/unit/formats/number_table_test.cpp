#include "core/formats/perfetto/number_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace bubblescope::perfetto {
namespace {

TEST(NumberTable, KeepsWhatNumbersStandFor) {
    NumberTable<int> table;
    for (int number = 1; number <= 1000; ++number)
        table.set(static_cast<std::uint64_t>(number), number + 1);
    table.set(UINT64_MAX, 7);
    EXPECT_EQ(table.find(1), 2);
    EXPECT_EQ(table.find(1000), 1001);
    EXPECT_EQ(table.find(UINT64_MAX), 7);
    EXPECT_EQ(table.find(1001), 0);
}

TEST(NumberTable, NumbersThatDoubleTakeNoMemoryForThoseBetween) {
    NumberTable<int> table;
    std::uint64_t number = 64;
    for (int i = 1; i < 57; ++i, number = 2 * number + 64) // up to 2^63
        table.set(number, i);
    EXPECT_EQ(table.find(64), 1);
    EXPECT_EQ(table.find(192), 2);
    EXPECT_EQ(table.find(number), 0);
}

TEST(NumberTable, WhatANumberStoodForBeforeIsForgotten) {
    NumberTable<int> table;
    table.set(1000, 7);
    for (std::uint64_t number = 1; number <= 900; ++number) // so many that a list may have that number
        table.set(number, 1);
    EXPECT_EQ(table.size(), 901U);
    table.set(1000, 8);
    EXPECT_EQ(table.find(1000), 8);
    table.set(1000, 0);
    EXPECT_EQ(table.find(1000), 0);
}

TEST(NumberTable, AnEmptyTextIsKnownIfItHasAnAddress) {
    using Texts = NumberTable<std::string_view>;
    Texts texts;
    texts.set(3, "");
    EXPECT_TRUE(Texts::isKnown(texts.find(3)));
    EXPECT_FALSE(Texts::isKnown(texts.find(4)));
    EXPECT_EQ(texts.size(), 1U);
    texts.set(3, "later");
    EXPECT_EQ(texts.find(3), "later");
    EXPECT_EQ(texts.size(), 1U);
}

} // namespace
} // namespace bubblescope::perfetto
