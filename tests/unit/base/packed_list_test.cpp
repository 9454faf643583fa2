#include "core/base/packed_list.h"
#include "core/base/time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace bubblescope {
namespace {

struct Numbers {
    Rank rank;
    bool flag = false;
    std::optional<TimeNs> maybe;
    std::array<TimeNs, 9> times{};

    friend bool operator==(const Numbers&, const Numbers&) = default;
};
template <class Wire>
constexpr void fields(Wire& wire, Numbers& value) {
    auto& [rank, flag, maybe, times] = value;
    wire(rank, flag, maybe, times);
}

static_assert(detail::numberCount<Numbers>() == 13);

using List = PackedList<Numbers>;

List listOf(const std::vector<Numbers>& values) {
    List list;
    list.edit() = values;
    return list;
}

std::vector<Numbers> someNumbers() {
    constexpr std::array kEdges{std::numeric_limits<std::int64_t>::min(),
                                std::numeric_limits<std::int64_t>::max(),
                                std::int64_t{0},
                                std::int64_t{-1},
                                std::int64_t{1},
                                std::int64_t{63},
                                std::int64_t{64},
                                std::int64_t{-64},
                                std::int64_t{-65}};
    std::mt19937_64 random(3);
    std::vector<Numbers> values(100);
    for (Numbers& value : values) {
        value.rank = Rank{static_cast<std::int32_t>(random())};
        value.flag = random() % 2 == 0;
        if (random() % 3 != 0) value.maybe = TimeNs{kEdges[random() % kEdges.size()]};
        for (TimeNs& time : value.times)
            time = TimeNs{random() % 2 == 0 ? kEdges[random() % kEdges.size()]
                                            : static_cast<std::int64_t>(random()) >> (random() % 64)};
    }
    return values;
}

void expectHolds(const List& list, const std::vector<Numbers>& values) {
    ASSERT_EQ(list.size(), values.size());
    EXPECT_EQ(list.empty(), values.empty());
    EXPECT_EQ(list.list(), values);
    EXPECT_TRUE(std::ranges::equal(list, values));
    for (const std::size_t i : {std::size_t{0}, values.size() / 2, values.size() - 1}) {
        if (i < values.size()) {
            EXPECT_EQ(list[i], values[i]);
        }
    }
    const auto found = std::ranges::find(list, values.empty() ? Rank{0} : values.back().rank, &Numbers::rank);
    EXPECT_EQ(found == list.end(), values.empty());
}

TEST(PackedList, HoldsTheSamePackedAndOpen) {
    for (const std::vector<Numbers>& values : {someNumbers(), std::vector<Numbers>(5), std::vector<Numbers>()}) {
        List list = listOf(values);
        expectHolds(list, values);
        list.pack();
        EXPECT_TRUE(list.isPacked());
        expectHolds(list, values);
        list.pack();
        expectHolds(list, values);
        const List copy = list;
        list.edit().push_back({Rank{7}, true, TimeNs{5}, {}});
        EXPECT_FALSE(list.isPacked());
        EXPECT_EQ(list.size(), values.size() + 1);
        EXPECT_EQ(list[values.size()].rank, Rank{7});
        expectHolds(copy, values);
    }
}

TEST(PackedList, TakesFewBytesForWhatIsAlike) {
    std::vector<Numbers> values;
    for (int i = 0; i < 1000; ++i)
        values.push_back({Rank{i}, true, TimeNs{1'000'000'000}, {TimeNs{1'000'000'000 + i % 50}, TimeNs{i / 100}}});
    List list = listOf(values);
    list.pack();
    // Two bytes that state which numbers differ: that of the rank, of one time and sometimes of another.
    EXPECT_LE(list.bytes(), values.size() * 4 + 64);
    List equal = listOf(std::vector<Numbers>(1000));
    equal.pack();
    // Two bytes that state that no number differs.
    EXPECT_LE(equal.bytes(), 2U * 1000 + 64);
}

} // namespace
} // namespace bubblescope
