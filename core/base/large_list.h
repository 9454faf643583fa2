#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

// Lists with an entry for each op of a large step are made and dropped again many times. Most of what they cost would
// be the system's handing out of small pages.
namespace bubblescope {

/// A wish that memory which nobody has touched yet be handed out in large pages. Where the system has none, or the
/// memory is less than a few of them, nothing happens.
void wishLargePages(const void* begin, std::size_t bytes);

/// Leaves new elements as they come, where their type allows it (no initializer and no constructor).
template <class T>
struct AsItComes : std::allocator<T> {
    AsItComes() = default;
    template <class Other>
    AsItComes(const AsItComes<Other>&) noexcept {} // NOLINT(google-explicit-constructor): an allocator's conversion
    template <class Other>
    struct rebind {
        using other = AsItComes<Other>;
    };
    template <class Element, class... From>
    void construct(Element* at, From&&... from) {
        if constexpr (sizeof...(From) == 0) {
            ::new (static_cast<void*>(at)) Element;
        } else {
            ::new (static_cast<void*>(at)) Element(std::forward<From>(from)...);
        }
    }
};

/// A list all of whose elements are written after it was made, mostly by several threads: their pages are then handed
/// out to the thread that writes them, and nothing is written twice.
template <class T>
using ListToFill = std::vector<T, AsItComes<T>>;

/// std::vector::reserve().
template <class T, class Allocator>
void reserveLarge(std::vector<T, Allocator>& list, std::size_t size) {
    if (size <= list.capacity()) return;
    list.reserve(size);
    wishLargePages(list.data() + list.size(), (list.capacity() - list.size()) * sizeof(T));
}

/// std::vector::resize().
template <class T, class Allocator>
void resizeLarge(std::vector<T, Allocator>& list, std::size_t size) {
    reserveLarge(list, size);
    list.resize(size);
}

/// A list of this size.
template <class T>
[[nodiscard]] std::vector<T> largeList(std::size_t size) {
    std::vector<T> list;
    resizeLarge(list, size);
    return list;
}
template <class T>
[[nodiscard]] std::vector<T> largeList(std::size_t size, T value) {
    std::vector<T> list;
    reserveLarge(list, size);
    list.assign(size, value);
    return list;
}

/// A copy of a range.
template <class T, class Range>
[[nodiscard]] std::vector<T> largeCopy(const Range& range) {
    std::vector<T> list;
    reserveLarge(list, range.size());
    list.assign(range.begin(), range.end());
    return list;
}

} // namespace bubblescope
