#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

// Lists with one entry per op of a large step are created and destroyed often. With small pages, page faults would
// account for most of the cost.
namespace bubblescope {

/// Asks the system to back untouched memory with large pages. Does nothing if the system has no large pages, or if the
/// memory is too small to benefit from them.
void adviseLargePages(const void* begin, std::size_t bytes);

/// Allocator that leaves new elements uninitialised if their type allows it (no initializer and no constructor).
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

/// A list whose elements are all written after its creation, usually by several threads. Skipping the initialisation
/// places each page near the thread that writes it, and avoids writing elements twice.
template <class T>
using ListToFill = std::vector<T, AsItComes<T>>;

/// std::vector::reserve().
template <class T, class Allocator>
void reserveLarge(std::vector<T, Allocator>& list, std::size_t size) {
    if (size <= list.capacity()) return;
    list.reserve(size);
    adviseLargePages(list.data() + list.size(), (list.capacity() - list.size()) * sizeof(T));
}

/// std::vector::resize().
template <class T, class Allocator>
void resizeLarge(std::vector<T, Allocator>& list, std::size_t size) {
    reserveLarge(list, size);
    list.resize(size);
}

/// A list of `size` uninitialised elements.
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

} // namespace bubblescope
