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

/// Drawing functions shared by all timelines, with or without a pipeline. Coordinates are the painter's.

namespace bubblescope::gui {

/// Draws a ruler with labelled marks on the lower edge of `band`, starting `names` pixels from the left. Draws `note`,
/// which describes the origin of the times, to the left of the ruler. The painter's font must be set.
void drawRuler(QPainter& painter, const Theme& theme, const std::vector<Tick>& ticks, const QRect& band, int names,
               const QString& note);

/// Draws an arrow, with a head at the end unless the line is only a few pixels long.
void drawArrow(QPainter& painter, const QLineF& line, const QColor& colour, double width);

/// Draws the triangle that shows whether a row is unfolded.
void drawFold(QPainter& painter, const Theme& theme, bool open, const QPointF& centre);

/// Draws a frame around an item.
void drawOutline(QPainter& painter, const QRectF& rect, const QColor& colour, int width, bool dashed = false);

/// Target for drawing slices: the image if it is not null, otherwise the painter. If there is a cache, labels are laid
/// out only once.
struct SliceTarget {
    QPainter& painter;
    double device_pixel_ratio = 1;
    PixelCanvas* pixels = nullptr;
    LabelCache* labels = nullptr;
};
/// Draws a slice with its label, or adjacent pixels of a lane. The painter's font must be set.
void drawSlice(const SliceTarget& target, const SliceShape& shape, const QColor& colour);

} // namespace bubblescope::gui
