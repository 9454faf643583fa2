#pragma once

#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/geometry.h"

#include <QString>

#include <vector>

namespace bubblescope::gui {

/// The ops and transfers of a full row, in the order of drawing. Without labels.
struct RowShapes {
    std::vector<TimelineShape> ops;   ///< bubbles, waits and ops that are at least a few device pixels wide
    std::vector<StackPiece> stacks;   ///< narrower ones, as columns of their exact shares in the same band
    std::vector<TimelineShape> lanes; ///< checks and transfers; spans narrower than a device pixel are merged
};

/// The visible rows with bands, each computed when it is drawn. Keeps a reference to its input.
class FullRows {
public:
    explicit FullRows(const GeometryInput& input);

    /// Top to bottom; none if rows are compact.
    [[nodiscard]] const std::vector<int>& rows() const { return rows_; }
    /// Replaces the content of `out`. Time grows with the number of pixels and the logarithm of the number of spans.
    /// Any thread.
    void build(int row, RowShapes& out) const;

private:
    const GeometryInput& input_;
    std::vector<TimeNs> borders_; ///< between the columns of device pixels
    std::vector<int> rows_;
};

/// True if a shape is large enough for a label and stands for a single item.
[[nodiscard]] bool mayBearLabel(const TimelineShape& shape);
/// The longest label that fits a shape; empty if none does. GUI thread only.
[[nodiscard]] QString shapeLabel(const GeometryInput& input, const TimelineShape& shape);

/// The shapes of all visible rows with their labels, in drawing order; the parts of stacks are also shapes. For vector
/// formats. GUI thread only.
[[nodiscard]] std::vector<TimelineShape> buildShapes(const GeometryInput& input);

} // namespace bubblescope::gui
