#pragma once

#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/geometry.h"

#include <QString>

#include <vector>

namespace bubblescope::gui {

/// Ops and transfers of a row that is not compact, in drawing order and without labels.
struct RowShapes {
    std::vector<TimelineShape> ops;   ///< bubbles, waits and ops that are at least a few device pixels wide
    std::vector<StackPiece> stacks;   ///< narrower shapes, as columns with their exact shares in the same band
    std::vector<TimelineShape> lanes; ///< checks and transfers; spans narrower than a device pixel are merged
};

/// The visible rows that are not compact. Each row is computed when it is drawn. The input must outlive the object.
class FullRows {
public:
    explicit FullRows(const GeometryInput& input);

    /// From top to bottom; empty if rows are compact.
    [[nodiscard]] const std::vector<int>& rows() const { return rows_; }
    /// Replaces the content of `out`. Linear in the number of pixels, logarithmic in the number of spans. Any
    /// thread.
    void build(int row, RowShapes& out) const;

private:
    const GeometryInput& input_;
    std::vector<TimeNs> borders_; ///< times between pixel columns
    std::vector<int> rows_;
};

/// True if a shape is large enough for a label and represents a single item.
[[nodiscard]] bool mayBearLabel(const TimelineShape& shape);
/// Longest label that fits into a shape; empty if none fits. GUI thread only.
[[nodiscard]] QString shapeLabel(const GeometryInput& input, const TimelineShape& shape);

/// Shapes of all visible rows with their labels, for vector formats. GUI thread only.
[[nodiscard]] RowShapes buildShapes(const GeometryInput& input);

} // namespace bubblescope::gui
