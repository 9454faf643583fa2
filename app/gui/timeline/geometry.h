#pragma once

#include "app/gui/models/session.h"
#include "app/gui/theme/theme.h"
#include "app/gui/timeline/row_layout.h"
#include "app/gui/timeline/time_scale.h"

#include <QRectF>
#include <QSizeF>
#include <QString>

#include <functional>
#include <vector>

namespace bubblescope::gui {

/// One rectangle to draw, in logical pixels of the plot (x from the plot's left edge, y from the top of the
/// visible part); its edges lie on device pixels.
struct TimelineShape {
    QRectF rect;
    Role role = Role::Forward;
    int chunk = 0;
    bool bad = false; ///< a check that found a difference
    ItemRef item;     ///< none where several spans narrower than a pixel were merged
    QString label;    ///< fits the rectangle; empty where nothing does
};

/// Between a label and the edges of its rectangle, left and right together.
inline constexpr double kLabelPadding = 4;

/// Size of a text, which may have two lines, in logical pixels as it will be drawn.
using TextSize = std::function<QSizeF(const QString&)>;

class ColumnCache;

struct GeometryInput {
    const Session& session;
    TimeScale scale;
    const RowLayout& rows;
    int scroll_y = 0;
    int height = 0; ///< of the visible part
    double device_pixel_ratio = 1;
    TextSize text_size;
    bool replay = true;             ///< whether checks are shown
    ColumnCache* columns = nullptr; ///< what the view looked at last, if that is kept

    /// The same of what lies in another part of the view: the pinned one is not scrolled.
    [[nodiscard]] GeometryInput scrolledTo(int y) const {
        GeometryInput out = *this;
        out.scroll_y = y;
        return out;
    }
};

/// What is visible, bubbles first, so that ops are drawn over them. Time grows with the pixels and the
/// logarithm of the spans, not with the spans: those narrower than a device pixel are merged. Empty where rows are
/// strips, see buildStrips().
[[nodiscard]] std::vector<TimelineShape> buildShapes(const GeometryInput& input);

/// The rectangle of one item, also when merged; clipped to the plot, at least one device pixel wide. Empty
/// when out of sight.
[[nodiscard]] QRectF itemRect(const GeometryInput& input, const ItemRef& item);

/// What lies at a point of the plot; spans within `slack` pixels are caught too, so that thin ones can be hit.
[[nodiscard]] ItemRef hitTest(const Session& session, const TimeScale& scale, const RowLayout& rows, int scroll_y,
                              double x, double y, double slack = 2, bool replay = true);

} // namespace bubblescope::gui
