#pragma once

#include "core/base/wire.h"

#include <cstdint>
#include <type_traits>
#include <vector>

// Lists of plain values, sent as they lie in memory.
namespace bubblescope {

template <class T>
void wireBlock(WireWriter& wire, const std::vector<T>& list) {
    static_assert(std::is_trivially_copyable_v<T>);
    wire(std::uint64_t{list.size()});
    wire.block(list.data(), list.size() * sizeof(T));
}
template <class T>
void wireBlock(WireReader& wire, std::vector<T>& list) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::uint64_t count = 0;
    wire(count);
    if (count > wire.left() / sizeof(T)) return wire.reject();
    list.resize(count);
    wire.block(list.data(), list.size() * sizeof(T));
}
template <class T>
void wireBlocks(WireWriter& wire, const std::vector<std::vector<T>>& lists) {
    wire(std::uint64_t{lists.size()});
    for (const std::vector<T>& list : lists)
        wireBlock(wire, list);
}
template <class T>
void wireBlocks(WireReader& wire, std::vector<std::vector<T>>& lists) {
    std::uint64_t count = 0;
    wire(count);
    if (count > wire.left() / sizeof count) return wire.reject(); // each has its size
    lists.resize(count);
    for (std::vector<T>& list : lists)
        wireBlock(wire, list);
}

} // namespace bubblescope
