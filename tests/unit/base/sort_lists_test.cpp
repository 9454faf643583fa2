#include "core/base/sort_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

struct Item {
    int key = 0;
    int number = 0; ///< its place in the beginning

    friend bool operator==(const Item&, const Item&) = default;
};

bool before(const Item& a, const Item& b) {
    return a.key < b.key;
}

std::vector<Item> numbered(const std::vector<int>& keys) {
    std::vector<Item> items;
    for (const int key : keys)
        items.push_back({key, static_cast<int>(items.size())});
    return items;
}

void expectSorted(const std::vector<int>& keys) {
    std::vector<Item> items = numbered(keys);
    std::vector<Item> wanted = items;
    std::stable_sort(wanted.begin(), wanted.end(), before);
    sortMixedLists(items, before);
    EXPECT_EQ(items, wanted);
}

TEST(SortMixedLists, SortsAsTheLibraryDoes) {
    std::mt19937 random(7);
    for (const std::size_t lists : {1U, 2U, 3U, 6U, 7U, 40U}) {
        for (const int keys : {1, 3, 1000}) {
            for (const std::size_t size : {0U, 1U, 2U, 50U, 2000U}) {
                SCOPED_TRACE(testing::Message() << lists << " lists, " << keys << " keys, " << size << " items");
                std::vector<std::vector<int>> ordered(lists);
                for (std::size_t i = 0; i < size; ++i)
                    ordered[random() % lists].push_back(static_cast<int>(random() % static_cast<unsigned>(keys)));
                for (std::vector<int>& list : ordered)
                    std::ranges::sort(list, std::greater()); // taken from the back
                std::vector<int> mixed;
                while (mixed.size() < size) {
                    std::vector<int>& list = ordered[random() % lists];
                    if (list.empty()) continue;
                    mixed.push_back(list.back());
                    list.pop_back();
                }
                expectSorted(mixed);
            }
        }
    }
}

TEST(SortMixedLists, SortsWhatIsInNoOrder) {
    std::vector<int> falling;
    for (int i = 100; i > 0; --i)
        falling.push_back(i);
    expectSorted(falling);
}

/// Fewer than three comparisons an item and list, however many items there are.
TEST(SortMixedLists, ComparesEachItemWithTheListsAlone) {
    for (const int size : {1000, 100'000}) {
        std::vector<int> items;
        for (int i = 0; i < size; ++i) // three lists
            items.push_back(i / 3 + (i % 3) * 50);
        std::size_t compared = 0;
        sortMixedLists(items, [&compared](int a, int b) {
            ++compared;
            return a < b;
        });
        EXPECT_TRUE(std::ranges::is_sorted(items));
        EXPECT_LT(compared, static_cast<std::size_t>(size) * 3 * 3);
    }
}

TEST(SortMixedLists, MovesItsItems) {
    std::vector<std::unique_ptr<int>> items;
    for (const int key : {2, 1, 3})
        items.push_back(std::make_unique<int>(key));
    sortMixedLists(items, [](const auto& a, const auto& b) { return *a < *b; });
    EXPECT_EQ(*items[0], 1);
    EXPECT_EQ(*items[1], 2);
    EXPECT_EQ(*items[2], 3);
}

} // namespace
} // namespace bubblescope
