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

/// Colour of a box: the kind of op, and the extent to which its colour is mixed with the background.
struct Paint {
    OpKind kind = OpKind::Forward;
    std::int32_t step = 0;  ///< 0 = full colour, steps − 1 = lightest colour
    std::int32_t steps = 1; ///< number of shades: the number of chunks times the number of slices per sequence

    friend constexpr auto operator<=>(const Paint&, const Paint&) = default;
};

/// "#rrggbb".
[[nodiscard]] std::string fillOf(const Paint& paint);

/// Black or white, depending on which has more contrast with `fill` ("#rrggbb").
[[nodiscard]] std::string_view textOn(std::string_view fill);

/// A rectangle in a rank's row.
struct Box {
    Rect rect;
    std::optional<Paint> paint; ///< empty for a bubble
    bool second_route = false;  ///< true if it belongs to the pipeline that runs from the last rank to the first
    std::string label = {};     ///< empty if the label does not fit
    double label_size = 0;
    std::string title = {}; ///< tooltip
};

/// Shades that distinguish the ops of a step.
struct Shades {
    int chunks = 1;
    int slices = 1; ///< number of slices per sequence

    [[nodiscard]] static Shades of(const StepTimeline& step);
    [[nodiscard]] Paint paint(const Op& op) const;
};

/// The micro-batch, with its slice if sequences are split ("3", "3:1"), or "O" for the optimizer.
[[nodiscard]] std::string labelOf(const Op& op, const Shades& shades);

/// Total space to the left and right of a label.
inline constexpr double kLabelPadding = 2.5;

struct RowInput {
    const StepTimeline& step;
    Rank rank;
    const std::vector<Bubble>& bubbles; ///< bubbles of this rank
    Shades shades;
    TimeNs from{0}; ///< times at the row's left and right edge
    TimeNs to{0};
    Rect row;
    double label_size = 0; ///< font size for ops that occupy the full height of the row
};

/// Returns a rank's ops and bubbles in the range as boxes. Ops that run simultaneously share the height of the row,
/// with forwards on top. Neighbours that are too narrow to be visible are merged into one box with the colour that has
/// the longest total time. Empty ops are omitted. Linear in the number of ops, apart from sorting them by start.
[[nodiscard]] std::vector<Box> rowBoxes(const RowInput& input);

} // namespace bubblescope::svg
