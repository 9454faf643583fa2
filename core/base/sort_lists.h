#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope {

namespace detail {

/// Divides a list into as few lists as possible that are in order, by the places of their items. Gives up, with
/// nothing, where these were more than `kMost`.
template <std::size_t kMost, class T, class Before>
[[nodiscard]] std::optional<std::vector<std::vector<std::uint32_t>>> orderedLists(const std::vector<T>& items,
                                                                                  const Before& before) {
    std::vector<std::vector<std::uint32_t>> lists;
    if (items.size() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    for (std::size_t i = 0; i < items.size(); ++i) {
        // The first list that the item continues: the last items of the lists descend.
        auto list = lists.begin();
        while (list != lists.end() && before(items[i], items[list->back()]))
            ++list;
        if (list == lists.end()) {
            if (lists.size() == kMost) return std::nullopt;
            list = lists.emplace(lists.end());
        }
        list->push_back(static_cast<std::uint32_t>(i));
    }
    return lists;
}

} // namespace detail

/// Sorts as std::stable_sort does. Linear where the items are in order, or are a few ordered lists mixed, as what
/// several ranks add to one list is. Unless they are in order, takes the memory of a second list and 4 bytes an item.
template <class T, class Before>
void sortMixedLists(std::vector<T>& items, const Before& before) {
    constexpr std::size_t kMostLists = 6; // with more, merging takes as long as sorting
    if (std::is_sorted(items.begin(), items.end(), before)) return;
    const auto lists = detail::orderedLists<kMostLists>(items, before);
    if (!lists) {
        std::stable_sort(items.begin(), items.end(), before);
        return;
    }
    std::array<std::size_t, kMostLists> next{};
    std::vector<T> sorted;
    sorted.reserve(items.size());
    while (sorted.size() < items.size()) {
        std::size_t first = lists->size();
        std::uint32_t place = 0;
        for (std::size_t list = 0; list < lists->size(); ++list) {
            if (next[list] == (*lists)[list].size()) continue;
            const std::uint32_t other = (*lists)[list][next[list]];
            // Of equal items the earlier one comes first.
            if (first < lists->size() &&
                (before(items[place], items[other]) || (place < other && !before(items[other], items[place]))))
                continue;
            first = list;
            place = other;
        }
        ++next[first];
        sorted.push_back(std::move(items[place]));
    }
    items = std::move(sorted);
}

} // namespace bubblescope
