#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bubblescope::perfetto {

/// What the numbers that a writer assigned refer to. Writers count from 1, so most are in a plain list.
template <class T>
class NumberTable {
public:
    void set(std::uint64_t number, T value) {
        ++count_;
        if (number > 2 * count_ + kRoom) { // a list up to there could fill the memory for a few bytes of a hostile file
            others_[number] = std::move(value);
            return;
        }
        if (number >= list_.size()) list_.resize(number + 1);
        list_[number] = std::move(value);
    }
    /// An empty one for an unknown number.
    [[nodiscard]] const T& find(std::uint64_t number) const {
        static const T kNothing{};
        if (number < list_.size() && list_[number] != kNothing) return list_[number];
        const auto known = others_.find(number);
        return known == others_.end() ? kNothing : known->second;
    }

private:
    static constexpr std::uint64_t kRoom = 64;

    std::uint64_t count_ = 0; ///< of calls of set()
    std::vector<T> list_;     ///< no longer than what count_ allows: its memory is linear in the file
    std::unordered_map<std::uint64_t, T> others_;
};

/// Values of a large table, which stay where they are, that were used last: a writer has few tracks.
template <class T>
class RecentOf {
public:
    /// Null if it is not among them.
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
