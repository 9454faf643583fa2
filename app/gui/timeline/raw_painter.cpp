#include "app/gui/timeline/raw_painter.h"

#include "app/gui/timeline/column_band.h"
#include "app/gui/timeline/draw.h"

#include <QImage>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace bubblescope::gui {

namespace {

QRgb rawRgb(const Theme& theme, StringId name) {
    static constexpr std::array<QRgb, 8> kLight{0xff7c9cc4, 0xffc9a66b, 0xff8fb58a, 0xffb48ab0,
                                                0xffd08c7a, 0xff79aeb2, 0xffa4a46c, 0xff9a98c9};
    static constexpr std::array<QRgb, 8> kDark{0xff54759e, 0xff95764a, 0xff5f8a5d, 0xff86608a,
                                               0xff9c6252, 0xff4f8387, 0xff7a7a48, 0xff6d6b9d};
    // Hashes the id, because neighbouring ids often occur together and should differ in colour.
    const std::size_t tone = (name * 2654435761U >> 13U) % kLight.size();
    return theme.dark ? kDark[tone] : kLight[tone];
}

} // namespace

QColor rawColour(const Theme& theme, StringId name) {
    return QColor(rawRgb(theme, name));
}

/// If some names are marked, the colours of all others are blended with 75 % background.
QRgb RawPainter::colourOf(StringId name) const {
    const QRgb own = rawRgb(f_.theme, name);
    if (f_.marked_names == nullptr || (*f_.marked_names)[name]) return own;
    const QRgb ground = f_.theme.timeline.rgb();
    const auto mixed = [](int a, int b) { return (a + 3 * b) / 4; };
    return qRgb(mixed(qRed(own), qRed(ground)), mixed(qGreen(own), qGreen(ground)), mixed(qBlue(own), qBlue(ground)));
}

template <class Paint>
void RawPainter::inPlot(const Paint& paint) {
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    p_.setFont(smallFont(f_.font));
    paint();
    p_.restore();
}

void RawPainter::paint(const std::vector<LaneShapes>& lanes) {
    inPlot([&] {
        for (const LaneShapes& lane : lanes) {
            paintColumns(lane);
            paintSlices(lane);
        }
    });
}

void RawPainter::paintSlices(const std::vector<LaneShapes>& lanes) {
    if (lanes.empty()) return;
    inPlot([&] {
        for (const LaneShapes& lane : lanes)
            paintSlices(lane);
    });
}

void RawPainter::paintSlices(const LaneShapes& lane) {
    const SliceTarget target{p_, f_.geometry.device_pixel_ratio, f_.pixels, f_.smaller};
    for (const SliceShape& shape : lane.slices)
        drawSlice(target, shape, QColor(colourOf(shape.name)));
}

/// Draws the columns as an image.
void RawPainter::paintColumns(const LaneShapes& lane) {
    if (lane.columns.empty()) return;
    const double ratio = f_.geometry.device_pixel_ratio;
    const auto device = [ratio](double pixels) { return static_cast<int>(std::lround(pixels * ratio)); };
    QImage image(device(f_.geometry.scale.width), device(RowLayout::kRawHeight), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    PixelCanvas pixels(image, QRect(0, 0, static_cast<int>(std::ceil(f_.geometry.scale.width)), RowLayout::kRawHeight),
                       ratio);
    writeColumns(lane.columns, pixels, 0);
    image.setDevicePixelRatio(ratio);
    p_.drawImage(QPointF(0, lane.top), image);
}

void RawPainter::writeColumns(const std::vector<ColumnRun>& columns, PixelCanvas& pixels, double top) const {
    static thread_local ColumnBand band;
    const int bottom = pixels.device(top + RowLayout::kRawHeight);
    std::array<int, RowLayout::kRawHeight + 1> heights{}; // indexed by the height of a run
    for (std::size_t high = 0; high < heights.size(); ++high)
        heights[high] = bottom - pixels.device(top) - pixels.device(RowLayout::kRawHeight - static_cast<double>(high));
    band.begin(pixels, bottom, pixels.width());
    for (const ColumnRun& run : columns)
        band.put(run.begin, run.end, heights[static_cast<std::size_t>(run.height)], colourOf(run.name));
    band.flush();
}

void RawPainter::paintMarks(const std::vector<SliceId>& marked) {
    const Trace* const trace = f_.session.run.trace.get();
    if (trace == nullptr) return;
    inPlot([&] {
        for (const LanePlace& at : lanesInSight(f_.geometry)) {
            const auto when = [&](std::uint32_t instant) { return trace->instants()[instant].time; };
            for (const double x : pixelsWith(at.scale, at.lane.instants, when))
                p_.fillRect(QRectF(x - 1, at.top, 2, 3), f_.theme.text_dim);
            const Track& track = trace->tracks()[at.lane.track];
            const auto first = std::ranges::lower_bound(marked, track.first_slice);
            const std::span own(first, std::lower_bound(first, marked.end(), track.end_slice));
            for (const double x : pixelsWith(at.scale, own, [&](SliceId slice) { return trace->start(slice); }))
                p_.fillRect(QRectF(x, at.top, 2, 3), f_.theme.selection);
        }
    });
}

} // namespace bubblescope::gui
