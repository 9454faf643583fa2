#include "core/formats/perfetto/number_table.h"

#include <gtest/gtest.h>

#include <cstdint>

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

} // namespace
} // namespace bubblescope::perfetto
