#include "app/gui/timeline/extra_painter.h"

#include "app/gui/language/format.h"
#include "core/parallel/parallel.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QImage>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace bubblescope::gui {

namespace {

struct ExtraText {
    Q_DECLARE_TR_FUNCTIONS(TimelinePainter)
};

constexpr int kNameIndent = 24;

QRgb rawRgb(const Theme& theme, StringId name) {
    static constexpr std::array<QRgb, 8> kLight{0xff7c9cc4, 0xffc9a66b, 0xff8fb58a, 0xffb48ab0,
                                                0xffd08c7a, 0xff79aeb2, 0xffa4a46c, 0xff9a98c9};
    static constexpr std::array<QRgb, 8> kDark{0xff54759e, 0xff95764a, 0xff5f8a5d, 0xff86608a,
                                               0xff9c6252, 0xff4f8387, 0xff7a7a48, 0xff6d6b9d};
    // Ids follow one another in the file; spread, neighbours differ.
    const std::size_t tone = (name * 2654435761U >> 13U) % kLight.size();
    return theme.dark ? kDark[tone] : kLight[tone];
}

} // namespace

QColor rawColour(const Theme& theme, StringId name) {
    return QColor(rawRgb(theme, name));
}

ExtraPainter::ExtraPainter(QPainter& painter, const TimelineFrame& frame)
    : p_(painter), f_(frame), small_(smallFont(frame.font)) {}

void ExtraPainter::paintRaw(const std::vector<RawShape>& shapes) {
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    p_.setFont(small_);
    paintPixels(shapes);
    const double pixel = 1 / f_.geometry.device_pixel_ratio;
    for (const RawShape& shape : shapes) {
        if (shape.slice == kNoId) continue;
        const QColor ground = rawColour(f_.theme, shape.name);
        QRectF body = shape.rect;
        if (body.width() >= 3) body.setWidth(body.width() - pixel);
        if (f_.pixels != nullptr) {
            f_.pixels->fill(body, ground.rgb());
        } else {
            p_.fillRect(body, ground);
        }
        if (shape.label.isEmpty()) continue;
        p_.setPen(textOn(ground));
        if (f_.smaller != nullptr) {
            f_.smaller->draw(p_, body.adjusted(3, 0, 0, 0), shape.label, false);
        } else {
            p_.drawText(body.adjusted(3, -2, 0, 2), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, shape.label);
        }
    }
    p_.restore();
    paintRawNames();
}

std::vector<ExtraPainter::LanePixels> ExtraPainter::lanesOfPixels(const std::vector<RawShape>& shapes) {
    std::vector<LanePixels> out;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (shapes[i].slice != kNoId) continue;
        const bool goes_on =
            !out.empty() && out.back().end == i && shapes[i - 1].rect.bottom() == shapes[i].rect.bottom();
        if (!goes_on) out.push_back({i, i});
        out.back().end = i + 1;
    }
    return out;
}

/// A lane can have a rectangle for each pixel: written as pixels they are drawn at once, and lanes, which lie apart, on
/// all cores.
void ExtraPainter::paintPixels(const std::vector<RawShape>& shapes) {
    const std::vector<LanePixels> lanes = lanesOfPixels(shapes);
    const auto topOf = [&](const LanePixels& lane) { return shapes[lane.first].rect.bottom() - RowLayout::kRawHeight; };
    if (f_.pixels != nullptr) {
        parallelFor(lanes.size(), [&](std::size_t i) { writeLane(shapes, lanes[i], *f_.pixels, topOf(lanes[i])); });
        return;
    }
    const double ratio = f_.geometry.device_pixel_ratio;
    const auto device = [ratio](double pixels) { return static_cast<int>(std::lround(pixels * ratio)); };
    for (const LanePixels& lane : lanes) {
        QImage image(device(f_.geometry.scale.width), device(RowLayout::kRawHeight),
                     QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::transparent);
        PixelCanvas pixels(
            image, QRect(0, 0, static_cast<int>(std::ceil(f_.geometry.scale.width)), RowLayout::kRawHeight), ratio);
        writeLane(shapes, lane, pixels, 0);
        image.setDevicePixelRatio(ratio);
        p_.drawImage(QPointF(0, topOf(lane)), image);
    }
}

void ExtraPainter::writeLane(const std::vector<RawShape>& shapes, const LanePixels& lane, PixelCanvas& pixels,
                             double top) const {
    std::vector<PixelBar> bars;
    bars.reserve(lane.end - lane.first);
    for (std::size_t i = lane.first; i < lane.end; ++i) {
        const QRectF& rect = shapes[i].rect;
        bars.push_back({pixels.device(rect.left()), pixels.device(rect.right()),
                        pixels.device(RowLayout::kRawHeight - rect.height()), rawRgb(f_.theme, shapes[i].name)});
    }
    pixels.fillBars(top, RowLayout::kRawHeight, bars);
}

template <class Paint>
void ExtraPainter::paintNames(int height, const Paint& paint) {
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setClipRect(QRect(0, kRulerHeight, kHeaderWidth - 1, f_.plot.height()));
    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    const QFontMetrics metrics(small_);
    // Names out of sight are not even measured.
    const auto area = [&](int lane_top) -> std::optional<QRect> {
        const int top = kRulerHeight + lane_top - f_.geometry.scroll_y;
        if (top > kRulerHeight + f_.plot.height() || top + height < kRulerHeight) return std::nullopt;
        return QRect(kNameIndent, top, kHeaderWidth - kNameIndent - 8, height);
    };
    for (int row = 0; row < rows.rowCount(); ++row)
        paint(row, metrics, area);
    p_.restore();
}

void ExtraPainter::paintRawNames() {
    const RowLayout& rows = f_.geometry.rows;
    paintNames(RowLayout::kRawHeight, [&](int row, const QFontMetrics& metrics, const auto& area) {
        for (int lane = 0; lane < rows.rawCount(row); ++lane) {
            const auto place = area(rows.rawTop(row, lane));
            if (!place) continue;
            const QString& name =
                f_.session.raw.of(rows.lineAt(row))[static_cast<std::size_t>(rows.rawLane(row, lane))].name;
            // A letter may be higher than the lane.
            p_.drawText(place->adjusted(0, -1, 0, 1), Qt::AlignRight | Qt::AlignVCenter,
                        metrics.elidedText(name, Qt::ElideMiddle, place->width()));
        }
    });
}

void ExtraPainter::paintCounters(const std::vector<CounterShape>& shapes, const CounterLanes& counters) {
    const RowLayout& rows = f_.geometry.rows;
    const QColor ground = f_.theme.fill(Role::Check);
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    for (const CounterShape& shape : shapes) {
        if (f_.pixels != nullptr) {
            f_.pixels->fill(shape.rect, ground.rgb());
        } else {
            p_.fillRect(shape.rect, ground);
        }
    }
    p_.restore();
    paintNames(RowLayout::kCounterHeight, [&](int row, const QFontMetrics& metrics, const auto& area) {
        for (int counter = 0; counter < rows.counterCount(row); ++counter) {
            const auto place = area(rows.counterTop(row, counter));
            if (!place) continue;
            const CounterLane& lane = counters.of(rows.lineAt(row))[static_cast<std::size_t>(counter)];
            const QString most = ExtraText::tr("max %1").arg(counterText(lane.most));
            const int room = place->width() - metrics.horizontalAdvance(most) - 6;
            p_.drawText(*place, Qt::AlignRight | Qt::AlignVCenter,
                        metrics.elidedText(lane.name, Qt::ElideMiddle, room) + QLatin1Char(' ') + most);
        }
    });
}

void ExtraPainter::paintReference(const std::vector<TimelineShape>& shapes, const ReferenceOverlay& reference,
                                  double share) {
    const QString name = share >= 1 ? reference.name : ExtraText::tr("%1 to %2").arg(percent(share), reference.name);
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    p_.setFont(small_);
    for (const TimelineShape& shape : shapes) {
        // Half way to the ground: there, but not what happened.
        QColor ground = f_.theme.fill(shape.role, shape.chunk, f_.session.run.schedule.vpp);
        ground.setAlpha(120);
        QRectF body = shape.rect;
        if (body.width() >= 3) body.setWidth(body.width() - 1);
        p_.fillRect(body, ground);
        if (shape.label.isEmpty()) continue;
        p_.setPen(f_.theme.text);
        p_.drawText(body.adjusted(0, -2, 0, 2), Qt::AlignCenter | Qt::TextSingleLine, shape.label);
    }
    // Where it ends, and by how much that is earlier.
    const double end = std::round(f_.geometry.scale.x(reference.timeline.end));
    const int bottom = std::min(f_.plot.height(), rows.contentHeight() - f_.geometry.scroll_y);
    if (end >= 0 && end < f_.plot.width()) {
        p_.setPen(QPen(f_.theme.selection, 1, Qt::DashLine));
        p_.drawLine(QPointF(end, 0), QPointF(end, bottom));
        const TimeNs saved = f_.session.window(reference.step).end - reference.timeline.end;
        const QString text = ExtraText::tr("%1 ends here: %2").arg(name, timeDelta(-saved));
        const QFontMetrics metrics(small_);
        const int width = metrics.horizontalAdvance(text) + 8;
        QRectF box(end + 2, 1, width, metrics.height() + 2);
        if (box.right() > f_.plot.width()) box.moveRight(end - 2);
        p_.fillRect(box, f_.theme.header);
        p_.setPen(f_.theme.selection);
        p_.drawText(box, Qt::AlignCenter, text);
    }
    p_.restore();

    if (rows.reference().height == 0) return;
    p_.save();
    p_.setClipRect(QRect(0, kRulerHeight, kHeaderWidth - 1, f_.plot.height()));
    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    for (int rank = 0; rank < static_cast<int>(reference.timeline.ranks.size()); ++rank) {
        const int row = rows.rowOf(f_.session.lanes.lineOf(reference.step, rank));
        if (row < 0) continue;
        const int top = kRulerHeight + rows.rowTop(row) + rows.reference().top - f_.geometry.scroll_y;
        p_.drawText(QRect(0, top, kHeaderWidth - 8, rows.reference().height), Qt::AlignRight | Qt::AlignVCenter,
                    QFontMetrics(small_).elidedText(name, Qt::ElideRight, kHeaderWidth - 16));
    }
    p_.restore();
}

} // namespace bubblescope::gui
