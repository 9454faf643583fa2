#include "app/gui/models/row_text.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QFontMetrics>
#include <QPainter>

namespace bubblescope::gui {

namespace {

constexpr int kGroupNameLeft = 16; ///< behind the sign for folding
constexpr int kPinWidth = 3;

} // namespace

/// Headers of groups, across names and plot.
void TimelinePainter::paintGroups() {
    const RowLayout& rows = f_.geometry.rows;
    if (!f_.group) return;
    p_.save();
    p_.setClipRect(QRect(0, kRulerHeight, f_.plot.right() + 1, f_.plot.height()));
    p_.setFont(bold_);
    for (int row = 0; row < rows.rowCount(); ++row) {
        if (!rows.isHeader(row)) continue;
        const int top = kRulerHeight + rows.rowTop(row) - f_.geometry.scroll_y;
        const QRect area(0, top, f_.plot.right() + 1, rows.heightOf(row));
        if (area.top() > f_.plot.bottom() || area.bottom() < kRulerHeight) continue;
        p_.fillRect(area, f_.theme.header);
        p_.fillRect(QRect(0, area.bottom(), area.width(), 1), f_.theme.line);
        paintFold(!rows.row(row).folded, {kGroupNameLeft / 2.0, area.center().y() + 0.5});
        p_.setPen(f_.theme.text);
        p_.drawText(area.adjusted(kGroupNameLeft, 0, -8, -1), Qt::AlignLeft | Qt::AlignVCenter,
                    groupName(rows.row(row), *f_.group));
    }
    p_.restore();
}

/// A bar at the edge marks pinned rows, a line where they end.
void TimelinePainter::paintPins() {
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setClipRect(QRect(0, kRulerHeight, f_.plot.right() + 1, f_.plot.height()));
    for (int row = 0; row < rows.rowCount() && rows.row(row).pinned; ++row) {
        const int top = kRulerHeight + rows.rowTop(row) - f_.geometry.scroll_y;
        p_.fillRect(QRect(0, top, kPinWidth, rows.heightOf(row) - 1), f_.theme.selection);
        const bool last = row + 1 == rows.rowCount() || !rows.row(row + 1).pinned;
        if (last) p_.fillRect(QRect(0, top + rows.heightOf(row) - 2, f_.plot.right() + 1, 2), f_.theme.line);
    }
    p_.restore();
}

} // namespace bubblescope::gui
