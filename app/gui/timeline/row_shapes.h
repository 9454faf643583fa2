#pragma once

#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/geometry.h"

#include <QString>

#include <vector>

namespace bubblescope::gui {

/// The ops and transfers of a full row, in the order of drawing. Without labels.
struct RowShapes {
    std::vector<TimelineShape> ops;   ///< bubbles, waits and ops that are some device pixels wide
    std::vector<StackPiece> stacks;   ///< narrower ones: columns of their exact shares, in the same band
    std::vector<TimelineShape> lanes; ///< checks and transfers; spans narrower than a device pixel are merged
};

/// The visible rows with bands, each computed when it is drawn. Refers to its input.
class FullRows {
public:
    explicit FullRows(const GeometryInput& input);

    /// Top to bottom; none if rows are compact.
    [[nodiscard]] const std::vector<int>& rows() const { return rows_; }
    /// Replaces what `out` holds. Time grows with the pixels and the logarithm of the spans. Any thread.
    void build(int row, RowShapes& out) const;

private:
    const GeometryInput& input_;
    std::vector<TimeNs> borders_; ///< between the columns of device pixels
    std::vector<int> rows_;
};

/// Whether a shape is large enough for a label and stands for a single item.
[[nodiscard]] bool mayBearLabel(const TimelineShape& shape);
/// The longest label that fits a shape; empty if none does. GUI thread only.
[[nodiscard]] QString shapeLabel(const GeometryInput& input, const TimelineShape& shape);

/// The shapes of all visible rows with their labels, in the order of drawing; the parts of stacks are shapes too. For
/// vector formats. GUI thread only.
[[nodiscard]] std::vector<TimelineShape> buildShapes(const GeometryInput& input);

} // namespace bubblescope::gui
