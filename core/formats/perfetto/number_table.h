#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bubblescope::perfetto {

/// Values, indexed by the numbers that a writer gave them. Writers count from 1, so most values are in a plain list.
template <class T>
class NumberTable {
public:
    static constexpr std::size_t kRoom = 32; ///< number of entries that the list may have before any numbers are set

    void set(std::uint64_t number, T value) {
        if (const auto other = others_.empty() ? others_.end() : others_.find(number); other != others_.end()) {
            other->second = std::move(value);
            return;
        }
        if (!isKnown(find(number))) ++count_;
        // If the list could grow up to any number, a few bytes of a malicious file could fill the memory.
        if (number >= 2 * count_ + kRoom) {
            others_.emplace(number, std::move(value));
            return;
        }
        if (number >= list_.size()) list_.resize(number + 1);
        list_[number] = std::move(value);
    }
    /// The value for a number; isKnown() returns false for the value if the number is unknown.
    [[nodiscard]] const T& find(std::uint64_t number) const {
        static const T kNothing{};
        if (number < list_.size() && isKnown(list_[number])) return list_[number];
        if (others_.empty()) return kNothing;
        const auto known = others_.find(number);
        return known == others_.end() ? kNothing : known->second;
    }
    /// True if the value was set, that is, if it is not empty. An empty string with a non-null address counts as set.
    [[nodiscard]] static bool isKnown(const T& value) {
        if constexpr (std::is_same_v<T, std::string_view>)
            return value.data() != nullptr;
        else
            return value != T{};
    }
    /// Number of values that were set; an empty one may be counted each time it is set.
    [[nodiscard]] std::size_t size() const { return count_; }

private:
    std::size_t count_ = 0;
    std::vector<T> list_; ///< limited by count_, so that memory is linear in the size of the file
    std::unordered_map<std::uint64_t, T> others_;
};

/// Recently used values of a large table whose elements do not move. Writers use only a few tracks.
template <class T>
class RecentOf {
public:
    /// Null if the number was not used recently.
    [[nodiscard]] T* find(std::uint64_t number) const {
        const Entry& entry = entries_[placeOf(number)];
        return entry.number == number ? entry.value : nullptr;
    }
    void set(std::uint64_t number, T& value) { entries_[placeOf(number)] = {number, &value}; }

private:
    struct Entry {
        std::uint64_t number = 0;
        T* value = nullptr;
    };
    static constexpr std::size_t kEntries = 16;
    static std::size_t placeOf(std::uint64_t number) { return (number ^ (number >> 32U)) % kEntries; }

    std::array<Entry, kEntries> entries_{};
};

} // namespace bubblescope::perfetto
