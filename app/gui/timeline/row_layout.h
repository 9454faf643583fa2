#pragma once

#include "app/gui/models/lanes.h"

#include <array>
#include <optional>
#include <vector>

namespace bubblescope::gui {

/// A lane's band in its row, in logical pixels from the row's top.
struct LaneBand {
    LaneKind kind = LaneKind::Compute; ///< Compute stands for Bubble as well
    int top = 0;
    int height = 0;
};

/// Where rows and lanes lie, in logical pixels from the top of the first row. Rows grow to fill the view
/// up to a comfortable height and shrink to a readable one; beyond that the view scrolls.
class RowLayout {
public:
    RowLayout() = default;
    RowLayout(const Lanes& lanes, int view_height);

    [[nodiscard]] int rowCount() const { return rows_; }
    [[nodiscard]] int rowHeight() const { return row_height_; }
    [[nodiscard]] int contentHeight() const { return rows_ * row_height_; }
    [[nodiscard]] int rowTop(int row) const { return row * row_height_; }
    [[nodiscard]] const std::vector<LaneBand>& bands() const { return bands_; }
    /// −1 outside.
    [[nodiscard]] int rowAt(int y) const;
    [[nodiscard]] std::optional<LaneBand> bandAt(int y) const;

private:
    int rows_ = 0;
    int row_height_ = 1;
    std::vector<LaneBand> bands_;
};

} // namespace bubblescope::gui
