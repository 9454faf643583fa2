#pragma once

#include <cstddef>
#include <vector>

// Lists with an entry for each op of a large step are made and dropped again many times. Most of what they cost would
// be the system's handing out of small pages.
namespace bubblescope {

/// A wish that memory which nobody has touched yet be handed out in large pages. Where the system has none, or the
/// memory is less than a few of them, nothing happens.
void wishLargePages(const void* begin, std::size_t bytes);

/// std::vector::reserve().
template <class T>
void reserveLarge(std::vector<T>& list, std::size_t size) {
    if (size <= list.capacity()) return;
    list.reserve(size);
    wishLargePages(list.data() + list.size(), (list.capacity() - list.size()) * sizeof(T));
}

/// std::vector::resize().
template <class T>
void resizeLarge(std::vector<T>& list, std::size_t size) {
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
