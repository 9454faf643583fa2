#pragma once

#include "core/base/time.h"
#include "core/schedule/op.h"
#include "core/timeline/transfers.h"

#include <compare>
#include <cstdint>

namespace bubblescope::gui {

/// A half-open piece of the trace's time axis.
struct TimeRange {
    TimeNs begin{0};
    TimeNs end{0};

    [[nodiscard]] TimeNs length() const { return end - begin; }
    [[nodiscard]] bool contains(TimeNs time) const { return begin <= time && time < end; }
    friend constexpr bool operator==(const TimeRange&, const TimeRange&) = default;
};

/// The part of the range that both share, in time; 0 when they do not touch.
[[nodiscard]] inline TimeNs overlap(const TimeRange& a, const TimeRange& b) {
    const TimeNs begin = a.begin > b.begin ? a.begin : b.begin;
    const TimeNs end = a.end < b.end ? a.end : b.end;
    return end > begin ? end - begin : TimeNs{0};
}

/// The range with `share` of its length added on either side.
[[nodiscard]] inline TimeRange padded(const TimeRange& range, double share) {
    const TimeNs pad{static_cast<std::int64_t>(static_cast<double>(range.length().count()) * share)};
    return {range.begin - pad, range.end + pad};
}

/// What a colour stands for on the timeline.
enum class Role : std::uint8_t {
    Forward,
    Backward,
    BackwardInput,
    BackwardWeight,
    Optimizer,
    Bubble,
    Send,
    Receive,
    Wait,
    Check, ///< replayed work inside a bubble
};
inline constexpr std::size_t kRoleCount = 10;

[[nodiscard]] constexpr Role roleOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return Role::Forward;
    case OpKind::Backward: return Role::Backward;
    case OpKind::BackwardInput: return Role::BackwardInput;
    case OpKind::BackwardWeight: return Role::BackwardWeight;
    case OpKind::Optimizer: break;
    }
    return Role::Optimizer;
}

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

/// An op of a step as an item; `step` is the place in Run::steps.
[[nodiscard]] inline ItemRef opItem(int step, const OpPlace& place) {
    return {ItemKind::Op, step, place.rank.value, static_cast<std::int32_t>(place.index)};
}

} // namespace bubblescope::gui
