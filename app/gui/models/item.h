#pragma once

#include <compare>
#include <cstdint>

namespace bubblescope::gui {

enum class ItemKind : std::uint8_t { None, Op, Bubble, Comm, Slice, Check };

/// Names one thing a user can point at. `step` is the place in Run::steps (not the step's own number),
/// `index` the place in that step's list of ops, bubbles or transfer spans of `rank`. A slice of the raw trace
/// has its SliceId for an index, and the step in or behind which it starts; a check its place in CheckLog::checks.
struct ItemRef {
    ItemKind kind = ItemKind::None;
    std::int32_t step = 0;
    std::int32_t rank = 0;
    std::int32_t index = 0;

    [[nodiscard]] explicit operator bool() const { return kind != ItemKind::None; }
    friend constexpr bool operator==(const ItemRef&, const ItemRef&) = default;
};

} // namespace bubblescope::gui
