#pragma once

#include "core/base/ids.h"
#include "core/base/packed_rows.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope {

namespace detail {

/// Counts the integers listed by fields().
class NumberCount {
public:
    template <class... T>
    constexpr void operator()(const T&...) {
        count_ += (std::size_t{0} + ... + of(static_cast<const T*>(nullptr)));
    }
    [[nodiscard]] constexpr std::size_t count() const { return count_; }

private:
    template <class T>
    static constexpr std::size_t of(const T*) {
        return 1;
    }
    template <class T>
    static constexpr std::size_t of(const std::optional<T>*) {
        return 1 + of(static_cast<const T*>(nullptr));
    }
    template <class T, std::size_t N>
    static constexpr std::size_t of(const std::array<T, N>*) {
        return N * of(static_cast<const T*>(nullptr));
    }

    std::size_t count_ = 0;
};

/// Number of integers per element.
template <class T>
[[nodiscard]] constexpr std::size_t numberCount() {
    T value{};
    NumberCount count;
    fields(count, value);
    return count.count();
}

/// Writes the members listed by fields() as integers.
class NumbersOut {
public:
    explicit NumbersOut(std::span<std::int64_t> to) : to_(to) {}
    template <class... T>
    void operator()(const T&... values) {
        (put(values), ...);
    }

private:
    template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
    void put(const T& value) { to_[at_++] = static_cast<std::int64_t>(value); }
    template <class Rep, class Period>
    void put(const std::chrono::duration<Rep, Period>& value) {
        put(value.count());
    }
    template <class Tag>
    void put(const Id<Tag>& id) {
        put(id.value);
    }
    template <class T>
    void put(const std::optional<T>& value) {
        put(value.has_value());
        put(value.value_or(T{}));
    }
    template <class T, std::size_t N>
    void put(const std::array<T, N>& values) {
        for (const T& value : values)
            put(value);
    }

    std::span<std::int64_t> to_;
    std::size_t at_ = 0;
};

/// Reads members that NumbersOut wrote.
class NumbersIn {
public:
    explicit NumbersIn(std::span<const std::int64_t> from) : from_(from) {}
    template <class... T>
    void operator()(T&... values) {
        (get(values), ...);
    }

private:
    template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
    void get(T& value) { value = static_cast<T>(from_[at_++]); }
    template <class Rep, class Period>
    void get(std::chrono::duration<Rep, Period>& value) {
        value = std::chrono::duration<Rep, Period>(static_cast<Rep>(from_[at_++]));
    }
    template <class Tag>
    void get(Id<Tag>& id) {
        get(id.value);
    }
    template <class T>
    void get(std::optional<T>& value) {
        bool there = false;
        get(there);
        T number{};
        get(number);
        value = there ? std::optional(number) : std::nullopt;
    }
    template <class T, std::size_t N>
    void get(std::array<T, N>& values) {
        for (T& value : values)
            get(value);
    }

    std::span<const std::int64_t> from_;
    std::size_t at_ = 0;
};

} // namespace detail

/// A list that can be packed into a few bytes once it is complete; reading then decodes its elements. Meant for many
/// lists that are rarely read. All members of T are integers, listed by a constexpr fields() (core/base/wire.h).
template <class T>
class PackedList {
    static constexpr std::size_t kNumbers = detail::numberCount<T>();
    using Row = std::array<std::int64_t, kNumbers>;

    static T valueOf(const Row& row) {
        T value;
        detail::NumbersIn in(row);
        fields(in, value);
        return value;
    }

public:
    using value_type = T;

    /// Decodes the elements one at a time, in order.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = T;

        Iterator() = default;
        T operator*() const { return list_->is_packed_ ? valueOf(row_) : list_->open_[at_]; }
        Iterator& operator++() {
            ++at_;
            enter();
            return *this;
        }
        Iterator operator++(int) {
            Iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

    private:
        friend class PackedList;
        Iterator(const PackedList& list, std::size_t at) : list_(&list), at_(at), reader_(list.packed_) { enter(); }
        void enter() {
            if (list_->is_packed_ && at_ < list_->size_) (void)reader_.next(row_);
        }

        const PackedList* list_ = nullptr;
        std::size_t at_ = 0;
        RowReader reader_;
        Row row_{};
    };
    using iterator = Iterator;
    using const_iterator = Iterator;

    PackedList() = default;
    [[nodiscard]] std::size_t size() const { return is_packed_ ? size_ : open_.size(); }
    [[nodiscard]] bool empty() const { return size() == 0; }
    /// Linear in `i` if the list is packed; to read several elements, call list().
    [[nodiscard]] T operator[](std::size_t i) const {
        if (!is_packed_) return open_[i];
        Iterator at = begin();
        while (i-- > 0)
            ++at;
        return *at;
    }
    [[nodiscard]] Iterator begin() const { return {*this, 0}; }
    [[nodiscard]] Iterator end() const {
        Iterator end;
        end.list_ = this;
        end.at_ = size();
        return end;
    }
    /// All elements.
    [[nodiscard]] std::vector<T> list() const {
        if (!is_packed_) return open_;
        std::vector<T> all;
        all.reserve(size_);
        for (const T& value : *this)
            all.push_back(value);
        return all;
    }

    /// Unpacks the list and returns its elements for editing.
    [[nodiscard]] std::vector<T>& edit() {
        if (is_packed_) {
            open_ = list();
            std::vector<std::uint8_t>().swap(packed_);
            is_packed_ = false;
        }
        return open_;
    }
    void pack() {
        if (std::exchange(is_packed_, true)) return;
        size_ = open_.size();
        std::vector<std::int64_t> numbers(size_ * kNumbers);
        const std::span<std::int64_t> all(numbers);
        for (std::size_t i = 0; i < size_; ++i) {
            detail::NumbersOut out(all.subspan(i * kNumbers, kNumbers));
            fields(out, open_[i]);
        }
        packed_ = packRows(numbers, kNumbers);
        std::vector<T>().swap(open_);
    }
    [[nodiscard]] bool isPacked() const { return is_packed_; }
    /// Memory used by the elements, including spare capacity.
    [[nodiscard]] std::size_t bytes() const { return open_.capacity() * sizeof(T) + packed_.capacity(); }

private:
    std::vector<T> open_;
    std::vector<std::uint8_t> packed_;
    std::size_t size_ = 0; ///< number of elements of a packed list
    bool is_packed_ = false;
};

} // namespace bubblescope
