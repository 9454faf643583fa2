#include "app/gui/timeline/flow_painter.h"

#include "app/gui/language/format.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

struct FlowLabel {
    Q_DECLARE_TR_FUNCTIONS(FlowPainter)
};

constexpr double kHead = 6;         ///< length of an arrow's head
constexpr double kShortest = 3;     ///< lines below this many pixels are no more than a dot
constexpr double kMarkWidth = 9;    ///< of a mismatch's mark
constexpr double kMarkApart = 6;    ///< closer ones are drawn once
constexpr double kFarOutside = 4e3; ///< pixels; a line's end further out changes nothing that is seen

} // namespace

int captionPitch(const QFont& font) {
    return static_cast<int>(std::ceil(QFontMetricsF(font).height())) + 10;
}

FlowPainter::FlowPainter(QPainter& painter, const TimelineFrame& frame, Qt::Edge captions)
    : p_(painter), f_(frame), edge_(captions) {}

/// Of a rank in the step that is current; −1 where it is not shown.
int FlowPainter::rowOf(int rank) const {
    return f_.geometry.rows.rowOf(f_.session.lanes.lineOf(f_.step, rank));
}

double FlowPainter::y(const Arrow::End& end, const Arrow::End& other) const {
    const RowLayout& rows = f_.geometry.rows;
    const double top = rows.rowTop(rowOf(end.rank)) - f_.geometry.scroll_y;
    const auto& bands = rows.bands();
    const auto band = std::ranges::find(bands, end.lane, &LaneBand::kind);
    if (end.lane != LaneKind::Compute && band != bands.end()) return top + band->top + band->height / 2.0;
    // From an op's edge that faces the other row.
    const LaneBand& compute = bands.front();
    return top + compute.top + (rowOf(other.rank) > rowOf(end.rank) ? compute.height : 0);
}

QLineF FlowPainter::line(const Arrow& arrow) const {
    const auto x = [&](TimeNs time) {
        return std::clamp(f_.geometry.scale.x(time), -kFarOutside, f_.geometry.scale.width + kFarOutside);
    };
    return {x(arrow.from.time), y(arrow.from, arrow.to), x(arrow.to.time), y(arrow.to, arrow.from)};
}

bool FlowPainter::shown(const Arrow& arrow) const {
    return rowOf(arrow.from.rank) >= 0 && rowOf(arrow.to.rank) >= 0;
}

bool FlowPainter::inSight(const QLineF& line) const {
    return std::max(line.x1(), line.x2()) >= 0 && std::min(line.x1(), line.x2()) <= f_.plot.width() &&
           std::max(line.y1(), line.y2()) >= 0 && std::min(line.y1(), line.y2()) <= f_.plot.height();
}

QColor FlowPainter::colour(Arrow::Kind kind) const {
    switch (kind) {
    case Arrow::Kind::Activation: return f_.theme.fill(Role::Send);
    case Arrow::Kind::Gradient: return f_.theme.fill(Role::Receive);
    case Arrow::Kind::Path: return f_.theme.bad;
    case Arrow::Kind::Blame: break;
    }
    return f_.theme.selection;
}

void FlowPainter::paintArrow(const QLineF& line, const QColor& colour, double width) {
    p_.setPen(QPen(colour, width, Qt::SolidLine, Qt::FlatCap));
    p_.drawLine(line);
    const double length = line.length();
    if (length < kShortest) return;
    const QPointF along(line.dx() / length, line.dy() / length);
    const QPointF across(-along.y(), along.x());
    const double head = std::min(kHead + width, length);
    const QPointF base = line.p2() - along * head;
    p_.setPen(Qt::NoPen);
    p_.setBrush(colour);
    p_.drawPolygon(QPolygonF{line.p2(), base + across * head * 0.45, base - across * head * 0.45});
    p_.setBrush(Qt::NoBrush);
}

void FlowPainter::paintArrows(const std::vector<Arrow>& arrows) {
    std::vector<std::pair<QLineF, Arrow::Kind>> seen;
    for (const Arrow& arrow : arrows) {
        if (!shown(arrow)) continue;
        const QLineF at = line(arrow);
        if (inSight(at)) seen.emplace_back(at, arrow.kind);
    }
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    if (seen.size() > kMaxArrows) {
        paintCaption(FlowLabel::tr("%1 transfers are in sight: zoom in to see their arrows").arg(seen.size()),
                     f_.theme.text_dim);
    } else {
        p_.setRenderHint(QPainter::Antialiasing);
        // Many of them are thin, so that the ops below can still be read.
        const double width = seen.size() > kMaxArrows / 10 ? 1 : 1.6;
        for (const auto& [at, kind] : seen)
            paintArrow(at, colour(kind), width);
    }
    p_.restore();
}

void FlowPainter::paintStretch(const Stretch& stretch, const QColor& colour) {
    if (overlap(stretch.range, f_.geometry.scale.range) == TimeNs{0}) return;
    const RowLayout& rows = f_.geometry.rows;
    const LaneBand& band = rows.bands().front();
    const int row = rowOf(stretch.rank);
    if (row < 0) return;
    const double top = rows.rowTop(row) + band.top - f_.geometry.scroll_y;
    if (top + band.height < 0 || top > f_.plot.height()) return;
    const double left = std::round(std::max(-2.0, f_.geometry.scale.x(stretch.range.begin)));
    const double right = std::round(std::min(f_.plot.width() + 2.0, f_.geometry.scale.x(stretch.range.end)));
    const QRectF box(left, top, std::max(1.0, right - left), band.height);
    if (stretch.cause) {
        QColor veil = colour;
        veil.setAlpha(70);
        p_.fillRect(box, veil);
        p_.fillRect(QRectF(box.left(), box.bottom() - 4, box.width(), 4), colour);
    }
    if (stretch.idle) {
        for (double x = box.left(); x < box.right(); x += 6)
            p_.fillRect(QRectF(x, box.center().y() - 1, std::min(3.0, box.right() - x), 2), colour);
        return;
    }
    p_.fillRect(QRectF(box.left(), box.top(), box.width(), 2), colour);
    p_.fillRect(QRectF(box.left(), box.bottom() - 2, box.width(), 2), colour);
}

void FlowPainter::paintPath(const Path& path, const QColor& colour) {
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    for (const Stretch& stretch : path.stretches)
        paintStretch(stretch, colour);
    p_.setRenderHint(QPainter::Antialiasing);
    for (const Arrow& arrow : path.arrows) {
        if (!shown(arrow)) continue;
        const QLineF at = line(arrow);
        if (inSight(at)) paintArrow(at, colour, 1.8);
    }
    p_.setRenderHint(QPainter::Antialiasing, false);
    if (!path.caption.isEmpty()) paintCaption(path.caption, colour);
    p_.restore();
}

void FlowPainter::paintMismatches() {
    const RowLayout& rows = f_.geometry.rows;
    const LaneBand& band = rows.bands().front();
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    p_.setRenderHint(QPainter::Antialiasing);
    p_.setPen(QPen(f_.theme.timeline, 1));
    p_.setBrush(f_.theme.bad);
    for (int row = 0; row < rows.rowCount() && f_.geometry.replay; ++row) {
        if (rows.isHeader(row)) continue;
        const double top = rows.rowTop(row) + band.top - f_.geometry.scroll_y;
        if (top + band.height < 0 || top > f_.plot.height()) continue;
        const auto& spans = f_.session.lanes.mismatches(static_cast<std::size_t>(rows.lineAt(row)));
        auto span = std::ranges::lower_bound(spans, f_.geometry.scale.range.begin, {}, &Span::start);
        double last = -kMarkApart;
        for (; span != spans.end() && span->start < f_.geometry.scale.range.end; ++span) {
            const double x = f_.geometry.scale.x(span->start + (span->end - span->start) / 2);
            if (x - last < kMarkApart) continue;
            last = x;
            const double half = kMarkWidth / 2;
            p_.drawPolygon(QPolygonF{{x - half, top - 3}, {x + half, top - 3}, {x, top + kMarkWidth - 2}});
        }
    }
    p_.restore();
}

void FlowPainter::paintMeasured(const RangeStats& stats) {
    const double left = std::round(f_.geometry.scale.x(stats.range.begin));
    const double right = std::round(f_.geometry.scale.x(stats.range.end));
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    QColor veil = f_.theme.selection;
    veil.setAlpha(26);
    p_.fillRect(QRectF(left, 0, std::max(1.0, right - left), f_.plot.height()), veil);
    for (const double x : {left, right})
        p_.fillRect(QRectF(x, 0, 1, f_.plot.height()), f_.theme.selection);
    paintCaption(FlowLabel::tr("%1: busy %2 of all ranks' time, bubbles %3, ops %4")
                     .arg(exactTime(stats.range.length()), percent(stats.busyShare()), shortTime(stats.bubble()))
                     .arg(stats.ops()),
                 f_.theme.selection);
    p_.restore();
}

void FlowPainter::paintCaption(const QString& caption, const QColor& colour) {
    const QFontMetricsF metrics(f_.font);
    const double height = captionPitch(f_.font) - 4;
    const double width = std::min(metrics.horizontalAdvance(caption) + 16, f_.plot.width() - 8.0);
    const double below = (height + 4) * ++captions_;
    if (f_.pinned) return; // the part below has it
    // Not over rows where there is room below them.
    const double bottom = edge_ == Qt::TopEdge ? 0 : f_.plot.height();
    const QRectF box(6, edge_ == Qt::TopEdge ? f_.caption_top + below - height : bottom - below, width, height);
    p_.setFont(f_.font);
    p_.fillRect(box, f_.theme.header);
    p_.fillRect(QRectF(box.left(), box.top(), 3, box.height()), colour);
    p_.setPen(f_.theme.text);
    p_.drawText(box.adjusted(8, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                metrics.elidedText(caption, Qt::ElideRight, box.width() - 12));
}

} // namespace bubblescope::gui
