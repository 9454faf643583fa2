#include "app/gui/charts/mark_labels.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace bubblescope::gui {

namespace {

constexpr double kFromMark = 4;
constexpr double kBetween = 8;
constexpr double kLeastWords = 48; ///< that say something when they are elided

/// The room around `x` that no label has, with space kept between.
struct FreeRoom {
    double left = 0;
    double right = 0;
};

/// Nothing where a label already stands over `x`.
std::optional<FreeRoom> roomAround(double x, const std::vector<MarkLabel>& placed, double left, double right) {
    FreeRoom room{left, right};
    for (const MarkLabel& label : placed) {
        const double end = label.left + label.width;
        if (label.left <= x && x <= end) return std::nullopt;
        if (end < x) room.left = std::max(room.left, end + kBetween);
        if (label.left > x) room.right = std::min(room.right, label.left - kBetween);
    }
    return room;
}

} // namespace

std::vector<MarkLabel> placeMarkLabels(const std::vector<MarkPlace>& marks, double left, double right) {
    std::vector<std::size_t> order(marks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        if (marks[a].importance != marks[b].importance) return marks[a].importance > marks[b].importance;
        return marks[a].x > marks[b].x;
    });
    std::vector<MarkLabel> placed;
    for (const std::size_t mark : order) {
        const auto& [x, width, importance] = marks[mark];
        const std::optional<FreeRoom> room = roomAround(x, placed, left, right);
        if (!room) continue;
        const double after = room->right - (x + kFromMark);
        const double before = x - kFromMark - room->left;
        if (width <= after) {
            placed.push_back({mark, x + kFromMark, width});
        } else if (width <= before) {
            placed.push_back({mark, x - kFromMark - width, width});
        } else if (after >= kLeastWords) {
            placed.push_back({mark, x + kFromMark, after});
        }
    }
    std::ranges::sort(placed, {}, &MarkLabel::left);
    return placed;
}

} // namespace bubblescope::gui
