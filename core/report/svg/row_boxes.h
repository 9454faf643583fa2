#pragma once

#include "core/report/svg/document.h"
#include "core/schedule/op.h"
#include "core/timeline/bubbles.h"
#include "core/timeline/step_timeline.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::svg {

/// The paint of a box: an op's kind, and how much its colour is mixed with the background.
struct Paint {
    OpKind kind = OpKind::Forward;
    std::int32_t step = 0;  ///< 0 = the full colour, steps − 1 = the lightest
    std::int32_t steps = 1; ///< number of shades: chunks, times slices if sequences are split

    friend constexpr auto operator<=>(const Paint&, const Paint&) = default;
};

/// "#rrggbb".
[[nodiscard]] std::string fillOf(const Paint& paint);

/// Black or white, whichever reads better on `fill` ("#rrggbb").
[[nodiscard]] std::string_view textOn(std::string_view fill);

/// A rectangle in a rank's row.
struct Box {
    Rect rect;
    std::optional<Paint> paint; ///< none: a bubble
    bool second_route = false;  ///< belongs to the pipeline that runs from the last rank to the first
    std::string label = {};     ///< empty if there is no room
    double label_size = 0;
    std::string title = {}; ///< tooltip
};

/// The shades that distinguish a step's ops.
struct Shades {
    int chunks = 1;
    int slices = 1; ///< slices of a sequence

    [[nodiscard]] static Shades of(const StepTimeline& step);
    [[nodiscard]] Paint paint(const Op& op) const;
};

/// The micro-batch, with its slice if sequences are split: "3", "3:1"; "O" for the optimizer.
[[nodiscard]] std::string labelOf(const Op& op, const Shades& shades);

/// Total room that a label needs on its left and right.
inline constexpr double kLabelPadding = 2.5;

struct RowInput {
    const StepTimeline& step;
    Rank rank;
    const std::vector<Bubble>& bubbles; ///< bubbles of this rank
    Shades shades;
    TimeNs from{0}; ///< the times of the row's left and right edge
    TimeNs to{0};
    Rect row;
    double label_size = 0; ///< for ops that take the row's full height
};

/// A rank's ops and bubbles in the range. Ops that run at the same time share the row's height, forwards on top.
/// Neighbours too narrow to be seen become one box in the colour that takes most of their time. Leaves out empty ops.
/// Linear in the number of ops, apart from sorting them by start.
[[nodiscard]] std::vector<Box> rowBoxes(const RowInput& input);

} // namespace bubblescope::svg
