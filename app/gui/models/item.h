#pragma once

#include "core/base/time.h"
#include "core/schedule/op.h"
#include "core/timeline/transfers.h"

#include <compare>
#include <cstdint>

namespace bubblescope::gui {

/// A half-open time interval of the trace.
struct TimeRange {
    TimeNs begin{0};
    TimeNs end{0};

    [[nodiscard]] TimeNs length() const { return end - begin; }
    [[nodiscard]] bool contains(TimeNs time) const { return begin <= time && time < end; }
    friend constexpr bool operator==(const TimeRange&, const TimeRange&) = default;
};

/// Length of the overlap of two ranges; 0 if they are disjoint.
[[nodiscard]] inline TimeNs overlap(const TimeRange& a, const TimeRange& b) {
    const TimeNs begin = a.begin > b.begin ? a.begin : b.begin;
    const TimeNs end = a.end < b.end ? a.end : b.end;
    return end > begin ? end - begin : TimeNs{0};
}

/// Adds a margin of `fraction` of the range's length on both sides.
[[nodiscard]] inline TimeRange padded(const TimeRange& range, double fraction) {
    const TimeNs pad{static_cast<std::int64_t>(static_cast<double>(range.length().count()) * fraction)};
    return {range.begin - pad, range.end + pad};
}

/// Meaning of a colour on the timeline.
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
    Check,       ///< recomputation inside a bubble to check the hardware
    ReplicaWait, ///< time from the end of a replica's step until the slowest replica ends
};
inline constexpr std::size_t kRoleCount = 11;

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

enum class ItemKind : std::uint8_t { None, Op, Bubble, Comm, Slice, Check, ReplicaWait };

/// Identifies an item that the user can select. `step` is an index in Run::steps (not the step's number); `index` is
/// the position in that step's list of ops, bubbles or transfer spans of `rank`. For a slice of the raw trace, `index`
/// is its SliceId, and `step` is the step in which, or after which, it starts. For a check, `index` is its position in
/// CheckLog::checks. For a wait for other replicas, `index` is 0.
struct ItemRef {
    ItemKind kind = ItemKind::None;
    std::int32_t step = 0;
    std::int32_t rank = 0;
    std::int32_t index = 0;

    [[nodiscard]] explicit operator bool() const { return kind != ItemKind::None; }
    friend constexpr bool operator==(const ItemRef&, const ItemRef&) = default;
};

/// Item for an op of a step; `step` is an index in Run::steps.
[[nodiscard]] inline ItemRef opItem(int step, const OpPlace& place) {
    return {ItemKind::Op, step, place.rank.value, static_cast<std::int32_t>(place.index)};
}

} // namespace bubblescope::gui
