#pragma once

#include "core/base/time.h"
#include "core/timeline/step_timeline.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bubblescope {

/// Where in a rank's step a bubble lies.
///
/// A rank's ops fall into phases: warm-up, up to the forward directly before its first backward (not
/// included); steady, from that forward to the backward directly after its last forward; cool-down, the
/// rest. A rank whose forwards all precede its backwards has no steady phase (F-then-B, and the outer
/// ranks of 1F1B when m is small); what lies between its forwards and its backwards is one bubble.
enum class Position : std::uint8_t {
    BeforeWarmup,
    InsideWarmup,
    WarmupToSteady,
    InsideSteady,
    SteadyToCooldown,
    ForwardToBackward, ///< in place of the three above on a rank without a steady phase
    InsideCooldown,
    AfterCooldown,
};
inline constexpr std::size_t kPositionCount = 8;

/// The manual's wording, also the JSON key: "before warm-up", "between warm-up and steady", …
/// F-then-B has no warm-up, so its positions read "before forward", "between forward and backward",
/// "after backward" when `f_then_b` is set.
[[nodiscard]] std::string_view positionName(Position position, bool f_then_b = false);

template <class T>
using PerPosition = std::array<T, kPositionCount>;

[[nodiscard]] constexpr std::size_t positionIndex(Position position) {
    return static_cast<std::size_t>(position);
}

/// One interval in which a rank's compute stream has no op of the step running.
struct Bubble {
    Rank rank;
    Position position = Position::BeforeWarmup;
    TimeNs start{0};
    TimeNs end{0};

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

/// All bubbles of a step, by rank and start; intervals of length 0 are left out. Idle time of overlapping
/// ops (damaged traces) is counted once. Linear in ops.
[[nodiscard]] std::vector<std::vector<Bubble>> findBubbles(const StepTimeline& step);

} // namespace bubblescope
