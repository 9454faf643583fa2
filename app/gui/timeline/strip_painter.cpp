#include "app/gui/timeline/strip_painter.h"

#include "app/gui/models/row_text.h"
#include "core/parallel/parallel.h"

#include <QFontMetrics>
#include <QImage>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace bubblescope::gui {

namespace {

constexpr int kStripNameLeft = 16;
constexpr int kShareWidth = 56; ///< of the bars that tell the ranks' bubbles

} // namespace

int nameEvery(int row_height, int name_height) {
    int every = 1;
    while (every * row_height < name_height)
        every *= 2;
    return every;
}

StripPainter::StripPainter(QPainter& painter, const TimelineFrame& frame) : p_(painter), f_(frame), small_(frame.font) {
    small_.setPointSizeF(std::max(6.5, frame.font.pointSizeF() * 0.85));
}

/// There can be a piece for each pixel of the screen: written as pixels they are drawn at once.
void StripPainter::paint(const std::vector<StripPiece>& pieces) {
    if (f_.pixels != nullptr) return paint(pieces, *f_.pixels);
    const double ratio = f_.geometry.device_pixel_ratio;
    QImage image((QSizeF(f_.plot.size()) * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    PixelCanvas pixels(image, QRect(QPoint(), f_.plot.size()), ratio);
    paint(pieces, pixels);
    image.setDevicePixelRatio(ratio);
    p_.drawImage(f_.plot.topLeft(), image);
}

/// Rows on all cores: every other one, and then those between them, since neighbours may share a line of pixels where
/// these are no whole ones.
void StripPainter::paint(const std::vector<StripPiece>& pieces, PixelCanvas& pixels) {
    std::array<std::vector<std::span<const StripPiece>>, 2> every_other;
    for (auto first = pieces.begin(); first != pieces.end();) {
        const auto end =
            std::find_if(first, pieces.end(), [&](const StripPiece& piece) { return piece.row != first->row; });
        every_other[static_cast<std::size_t>(first->row) % 2].emplace_back(first, end);
        first = end;
    }
    for (const auto& rows : every_other) {
        parallelFor(rows.size(), [&](std::size_t i) { paintRow(rows[i], pixels); });
    }
}

void StripPainter::paintRow(std::span<const StripPiece> pieces, PixelCanvas& pixels) const {
    const RowLayout& rows = f_.geometry.rows;
    const int chunks = f_.session.run.schedule.vpp;
    const QRgb bubble = f_.theme.fill(Role::Bubble).rgb();
    const double end = rows.rowTop(pieces.front().row) + rows.bands().front().height - f_.geometry.scroll_y;
    const int bottom = pixels.device(end);
    for (const StripPiece& piece : pieces) {
        const int width = piece.end - piece.begin;
        if (piece.busy > 0)
            pixels.fillDevice({piece.begin, bottom - piece.busy, width, piece.busy},
                              f_.theme.fill(piece.role, piece.chunk, chunks).rgb());
        if (piece.idle > 0)
            pixels.fillDevice({piece.begin, bottom - piece.busy - piece.idle, width, piece.idle}, bubble);
    }
}

void StripPainter::paintNames(const QRect& column) {
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setFont(small_);
    const int line = QFontMetrics(small_).height();
    const int every = nameEvery(rows.rowHeight(), line);
    for (int row = 0; row < rows.rowCount(); ++row) {
        if (rows.isHeader(row)) continue;
        const QRect area(0, column.top() + rows.rowTop(row) - f_.geometry.scroll_y, column.width() - 1,
                         rows.bands().front().height);
        // A name may reach beyond its strip.
        if (area.top() > column.bottom() || area.top() + line < column.top()) continue;
        paintShare(row, area);
        if (row % every != 0) continue;
        p_.setPen(f_.theme.text);
        // The topmost one would be cut off by the ruler.
        const int top = row == 0 ? std::max(area.top(), area.center().y() - line / 2) : area.center().y() - line / 2;
        p_.drawText(QRect(kStripNameLeft, top, area.width() - kStripNameLeft, line), Qt::AlignLeft | Qt::AlignVCenter,
                    lineName(f_.session, rows.lineAt(row)));
    }
    p_.restore();
}

/// The rank's bubbles as a bar, from the right: side by side they draw the profile of the step.
void StripPainter::paintShare(int row, const QRect& area) {
    const int line = f_.geometry.rows.lineAt(row);
    const auto rank = static_cast<std::size_t>(f_.session.lanes.rankOf(line));
    const StepAnalysis& analysis = f_.session.analysis(f_.session.stepOn(line, f_.step));
    if (rank >= analysis.ranks.size() || analysis.wall <= TimeNs{0}) return;
    const double share =
        static_cast<double>(analysis.ranks[rank].bubble.count()) / static_cast<double>(analysis.wall.count());
    const int width = static_cast<int>(std::lround(kShareWidth * std::clamp(share, 0.0, 1.0)));
    const QRect frame(area.right() - kShareWidth - 8, area.top(), kShareWidth, area.height());
    p_.fillRect(frame, f_.theme.fill(Role::Forward));
    p_.fillRect(QRect(frame.right() + 1 - width, frame.top(), width, frame.height()), f_.theme.fill(Role::Bubble));
}

} // namespace bubblescope::gui
