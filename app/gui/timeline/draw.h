#pragma once

#include "app/gui/theme/theme.h"
#include "app/gui/timeline/pixel_canvas.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/time_axis.h"

#include <QLineF>
#include <QRect>
#include <QString>

#include <vector>

class QPainter;

/// Drawing that all timelines share, with or without a pipeline. Coordinates are those of the painter.

namespace bubblescope::gui {

/// A ruler: marks on the lower edge of `band`, with labels, right of `names` pixels; and left of them `note`: what
/// times count from. The painter has the font.
void drawRuler(QPainter& painter, const Theme& theme, const std::vector<Tick>& ticks, const QRect& band, int names,
               const QString& note);

/// An arrow with a head at the line's end, unless the line is shorter than some pixels.
void drawArrow(QPainter& painter, const QLineF& line, const QColor& colour, double width);

/// A triangle that shows whether a row is unfolded.
void drawFold(QPainter& painter, const Theme& theme, bool open, const QPointF& centre);

/// A frame around an item.
void drawOutline(QPainter& painter, const QRectF& rect, const QColor& colour, int width, bool dashed = false);

/// The target for slices: an image if there is one, else the painter; labels are laid out once if there is a cache.
struct SliceTarget {
    QPainter& painter;
    double device_pixel_ratio = 1;
    PixelCanvas* pixels = nullptr;
    LabelCache* labels = nullptr;
};
/// A slice or some pixels of a lane, with its label. The painter has the font.
void drawSlice(const SliceTarget& target, const SliceShape& shape, const QColor& colour);

} // namespace bubblescope::gui
