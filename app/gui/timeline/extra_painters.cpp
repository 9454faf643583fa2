#include "app/gui/timeline/extra_painters.h"

#include "app/gui/language/text.h"
#include "app/gui/timeline/draw.h"
#include "app/gui/timeline/raw_painter.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QFontMetricsF>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kNameIndent = 24;

/// Clips a painter to the plot and moves its origin there, until the end of the scope.
struct InPlot {
    InPlot(QPainter& painter, const TimelineFrame& frame) : p(painter) {
        p.save();
        p.setClipRect(frame.plot);
        p.translate(frame.plot.topLeft());
    }
    InPlot(const InPlot&) = delete;
    InPlot& operator=(const InPlot&) = delete;
    ~InPlot() { p.restore(); }

    QPainter& p;
};

} // namespace

ExtraPainter::ExtraPainter(QPainter& painter, const TimelineFrame& frame)
    : p_(painter), f_(frame), small_(smallFont(frame.font)) {}

void ExtraPainter::paintRaw() {
    if (f_.pixels == nullptr) RawPainter(p_, f_).paint(buildRawShapes(f_.geometry));
    paintRawNames();
}

template <class Paint>
void ExtraPainter::paintNames(int height, const Paint& paint) {
    if (!f_.names) return;
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setClipRect(QRect(0, kRulerHeight, kHeaderWidth - 1, f_.plot.height()));
    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    const QFontMetrics metrics(small_);
    // Invisible names are not measured.
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
            const RawLane& of = laneAt(f_.session, rows, row, lane);
            if (f_.controls() && of.depth > 1)
                drawFold(p_, f_.theme, rows.rawRows(row, lane) > 1, {kNameIndent / 2.0, place->center().y() + 0.5});
            // Letters may be higher than the lane.
            p_.setPen(f_.theme.text_dim);
            p_.drawText(place->adjusted(0, -1, 0, 1), Qt::AlignRight | Qt::AlignVCenter,
                        metrics.elidedText(of.name(), Qt::ElideLeft, place->width()));
        }
    });
}

void ExtraPainter::paintCounters(const std::vector<CounterShape>& shapes, const CounterLanes& counters) {
    const RowLayout& rows = f_.geometry.rows;
    const QColor background = f_.theme.fill(Role::Check);
    const auto paintShapes = [&] {
        const InPlot scope(p_, f_);
        for (const CounterShape& shape : shapes) {
            if (f_.pixels != nullptr)
                f_.pixels->fill(shape.rect, background.rgb());
            else
                p_.fillRect(shape.rect, background);
        }
    };
    paintShapes();
    paintNames(RowLayout::kCounterHeight, [&](int row, const QFontMetrics& metrics, const auto& area) {
        for (int counter = 0; counter < rows.counterCount(row); ++counter) {
            const auto place = area(rows.counterTop(row, counter));
            if (!place) continue;
            const CounterLane& lane = *counters.of(rows.lineAt(row))[static_cast<std::size_t>(counter)];
            const QString value = counterText(lane.maximum, lane.name);
            const QString maximum =
                lane.maximum_op.isEmpty() ? tr("max %1").arg(value) : tr("max %1, %2").arg(value, lane.maximum_op);
            const int room = place->width() - metrics.horizontalAdvance(maximum) - 6;
            p_.drawText(*place, Qt::AlignRight | Qt::AlignVCenter,
                        metrics.elidedText(lane.name, Qt::ElideMiddle, room) + QLatin1Char(' ') + maximum);
        }
    });
}

QColor opChangeColour(const Theme& theme, OpChange change) {
    return change == OpChange::Longer ? theme.bad : change == OpChange::Shorter ? theme.good : theme.selection;
}

/// Ops of a reference are translucent because they are not part of the open run; ops that differ from the open run
/// stand out.
QColor ExtraPainter::referenceColour(const TimelineShape& shape) const {
    if (shape.change != OpChange::Same) return opChangeColour(f_.theme, shape.change);
    QColor colour = f_.theme.fill(shape.role, shape.chunk, f_.session.run.schedule.vpp);
    colour.setAlpha(120);
    return colour;
}

void ExtraPainter::paintReference(const std::vector<TimelineShape>& shapes, const ReferenceOverlay& reference,
                                  double fraction) {
    const QString name = fraction >= 1 ? reference.name : tr("%1 to %2").arg(percent(fraction), reference.name);
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    p_.setFont(small_);
    for (const TimelineShape& shape : shapes) {
        QColor background = referenceColour(shape);
        QRectF body = shape.rect;
        if (body.width() >= 3) body.setWidth(body.width() - 1);
        p_.fillRect(body, background);
        if (shape.label.isEmpty()) continue;
        p_.setPen(shape.change == OpChange::Same ? f_.theme.text : textOn(background));
        p_.drawText(body.adjusted(0, -2, 0, 2), Qt::AlignCenter | Qt::TextSingleLine, shape.label);
    }
    // Marks the end of each step of the reference and, for the main step of the overlay, the time saved.
    const std::vector<ReferencePart> parts = partsOf(f_.session, reference);
    const double end = std::round(f_.geometry.scale.x(reference.timeline.end));
    const int bottom = std::min(f_.plot.height(), rows.contentHeight() - f_.geometry.scroll_y);
    p_.setPen(QPen(f_.theme.text_dim, 1, Qt::DotLine));
    for (const ReferencePart& part : parts) {
        const double x = std::round(f_.geometry.scale.x(part.timeline.end));
        const bool seen = part.timeline.end >= part.seen.begin && part.timeline.end < part.seen.end;
        if (part.step != reference.step && seen && x >= 0 && x < f_.plot.width())
            p_.drawLine(QPointF(x, 0), QPointF(x, bottom));
    }
    if (end >= 0 && end < f_.plot.width()) {
        p_.setPen(QPen(f_.theme.selection, 1, Qt::DashLine));
        p_.drawLine(QPointF(end, 0), QPointF(end, bottom));
        const TimeNs saved = f_.session.window(reference.step).end - reference.timeline.end;
        const QString text = tr("%1 ends here: %2").arg(name, timeDelta(-saved));
        const QFontMetrics metrics(small_);
        const int width = metrics.horizontalAdvance(text) + 8;
        // Placed next to the time labels, so that it covers neither a row nor a step.
        QRectF box(end + 2, kStepBandHeight - kRulerHeight + 1, width, kStepBandHeight - 2);
        if (box.right() > f_.plot.width()) box.moveRight(end - 2);
        p_.setClipping(false);
        p_.fillRect(box, f_.theme.header);
        p_.setPen(f_.theme.selection);
        p_.drawText(box, Qt::AlignCenter, text);
    }
    p_.restore();

    if (rows.reference().height == 0 || !f_.names) return;
    p_.save();
    p_.setClipRect(QRect(0, kRulerHeight, kHeaderWidth - 1, f_.plot.height()));
    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    std::set<int> named;
    for (const ReferencePart& part : parts) {
        for (int rank = 0; rank < static_cast<int>(part.timeline.ranks.size()); ++rank)
            named.insert(rows.rowOf(f_.session.lanes.lineOf(part.step, rank)));
    }
    named.erase(-1);
    for (const int row : named) {
        const int top = kRulerHeight + rows.rowTop(row) + rows.reference().top - f_.geometry.scroll_y;
        p_.drawText(QRect(0, top, kHeaderWidth - 8, rows.reference().height), Qt::AlignRight | Qt::AlignVCenter,
                    QFontMetrics(small_).elidedText(name, Qt::ElideMiddle, kHeaderWidth - 16));
    }
    p_.restore();
}

namespace {

constexpr double kMarkWidth = 9;    ///< width of a mismatch mark
constexpr double kMarkApart = 6;    ///< marks closer than this are drawn once
constexpr double kFarOutside = 4e3; ///< pixels; line ends outside the view are clamped to this distance

} // namespace

int captionPitch(const QFont& font) {
    return static_cast<int>(std::ceil(QFontMetricsF(font).height())) + 10;
}

FlowPainter::FlowPainter(QPainter& painter, const TimelineFrame& frame, Qt::Edge edge, int captions)
    : p_(painter), f_(frame), edge_(edge), captions_(captions) {}

/// The row of a rank in the current step; −1 if it is not shown.
int FlowPainter::rowOf(int rank) const {
    return f_.geometry.rows.rowOf(f_.session.lanes.lineOf(f_.step, rank));
}

double FlowPainter::y(const Arrow::End& end, const Arrow::End& other) const {
    const RowLayout& rows = f_.geometry.rows;
    const double top = rows.rowTop(rowOf(end.rank)) - f_.geometry.scroll_y;
    const auto& bands = rows.bands();
    const auto band = std::ranges::find(bands, end.lane, &LaneBand::kind);
    if (end.lane != LaneKind::Compute && band != bands.end()) return top + band->top + band->height / 2.0;
    // The line starts at the edge of the op band that faces the other row.
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

void FlowPainter::paintArrows(const std::vector<Arrow>& arrows) {
    std::vector<std::pair<QLineF, Arrow::Kind>> seen;
    for (const Arrow& arrow : arrows) {
        if (!shown(arrow)) continue;
        const QLineF at = line(arrow);
        if (inSight(at)) seen.emplace_back(at, arrow.kind);
    }
    const InPlot scope(p_, f_);
    if (seen.size() > kMaxArrows) {
        paintTooMany(seen.size());
    } else {
        p_.setRenderHint(QPainter::Antialiasing);
        // If there are many lines, they are thin, so that the ops below remain readable.
        const double width = seen.size() > kMaxArrows / 10 ? 1 : 1.6;
        for (const auto& [at, kind] : seen)
            drawArrow(p_, at, colour(kind), width);
    }
}

void FlowPainter::paintTooMany(std::size_t arrows) {
    paintCaption(tr("%1 transfers in view: zoom in to see their arrows").arg(arrows), f_.theme.text_dim);
}

void FlowPainter::paintFlows(const std::vector<SliceFlow>& flows, const QColor& colour) {
    const InPlot scope(p_, f_);
    p_.setRenderHint(QPainter::Antialiasing);
    const double width = flows.size() > kMaxArrows / 10 ? 1 : 1.6;
    for (const SliceFlow& flow : flows) {
        if (const auto at = flowLine(f_.geometry, flow); at && inSight(*at)) drawArrow(p_, *at, colour, width);
    }
}

void FlowPainter::paintFlows(const SliceFlows& flows) {
    constexpr std::size_t kMostTried = 10 * kMaxArrows;
    const std::size_t begin = flows.firstFrom(f_.geometry.scale.range.begin);
    const std::size_t end = flows.firstFrom(f_.geometry.scale.range.end);
    std::vector<SliceFlow> seen;
    for (std::size_t i = begin; i < end && end - begin <= kMostTried; ++i) {
        const SliceFlow flow = flows[i];
        if (const auto at = flowLine(f_.geometry, flow); at && inSight(*at)) seen.push_back(flow);
    }
    const std::size_t count = end - begin > kMostTried ? end - begin : seen.size();
    if (count <= kMaxArrows) return paintFlows(seen, f_.theme.text_dim);
    const InPlot scope(p_, f_);
    paintTooMany(count);
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
    const InPlot scope(p_, f_);
    for (const Stretch& stretch : path.stretches)
        paintStretch(stretch, colour);
    p_.setRenderHint(QPainter::Antialiasing);
    for (const Arrow& arrow : path.arrows) {
        if (!shown(arrow)) continue;
        const QLineF at = line(arrow);
        if (inSight(at)) drawArrow(p_, at, colour, 1.8);
    }
    p_.setRenderHint(QPainter::Antialiasing, false);
    if (!path.caption.isEmpty()) paintCaption(path.caption, colour, causeLeft(path));
}

double FlowPainter::causeLeft(const Path& path) const {
    auto cause = std::ranges::find(path.stretches, true, &Stretch::cause);
    // The cause may be an op before the chain; the start of the chain is then next to it.
    if (cause == path.stretches.end())
        cause =
            std::ranges::min_element(path.stretches, {}, [](const Stretch& stretch) { return stretch.range.begin; });
    if (cause == path.stretches.end()) return 0;
    return std::clamp(f_.geometry.scale.x(cause->range.begin), 0.0, static_cast<double>(f_.plot.width()));
}

void FlowPainter::paintMismatches() {
    const RowLayout& rows = f_.geometry.rows;
    const LaneBand& band = rows.bands().front();
    const InPlot scope(p_, f_);
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
}

void FlowPainter::paintMeasured(const RangeStats& stats, const std::vector<TrackId>& tracks) {
    const double left = std::round(f_.geometry.scale.x(stats.range.begin));
    const double right = std::round(f_.geometry.scale.x(stats.range.end));
    const InPlot scope(p_, f_);
    QColor veil = f_.theme.selection;
    veil.setAlpha(26);
    const auto paintPart = [&](double top, double height) {
        p_.fillRect(QRectF(left, top, std::max(1.0, right - left), height), veil);
        for (const double x : {left, right})
            p_.fillRect(QRectF(x, top, 1, height), f_.theme.selection);
    };
    if (tracks.empty()) {
        paintPart(0, f_.plot.height());
    } else {
        veil.setAlpha(60);
        for (const LanePlace& at : lanesInSight(f_.geometry)) {
            if (std::ranges::binary_search(tracks, at.lane.track)) paintPart(at.top, at.height);
        }
    }
    const QString length = shortTime(stats.range.length());
    paintCaption(!tracks.empty() || !f_.session.hasSteps()
                     ? length
                     : tr("%1: ranks busy %2, bubbles %3, ops: %4")
                           .arg(length, percent(stats.busyFraction()), shortTime(stats.bubble()))
                           .arg(stats.ops()),
                 f_.theme.selection);
}

/// Hides the labels of the ruler that a caption would cut off, because a partial number would be wrong.
void FlowPainter::hideCutLabels(const QRectF& box) {
    const TimeNs origin = rulerOrigin(f_.session, f_.step, f_.geometry.scale.range);
    const QFontMetricsF metrics(smallFont(f_.font));
    for (const Tick& tick : makeTicks(f_.geometry.scale, origin, kTickRoom)) {
        const QRectF label(tick.x + 2, box.top(), metrics.horizontalAdvance(tick.label) + 4, box.height() - 4);
        if (!tick.label.isEmpty() && label.intersects(box)) p_.fillRect(label, f_.theme.header);
    }
}

void FlowPainter::paintCaption(const QString& caption, const QColor& colour, double anchor) {
    const QFontMetricsF metrics(f_.font);
    const double height = captionPitch(f_.font) - 4;
    const double width = std::min(metrics.horizontalAdvance(caption) + 16, f_.plot.width() - 8.0);
    const int place = captions_++;
    if (f_.pinned) return; // the scrolled part draws it
    // Placed below the rows, or in the ruler above the described item, so that it does not cover a row. Covers time
    // labels first and steps last, because users are likely to click on steps next.
    constexpr int kInRuler = 2;
    QRectF box(6, f_.plot.height() - (height + 4) * (place + 1), width, height);
    if (edge_ == Qt::TopEdge && place < kInRuler) {
        const double left = std::clamp(anchor, 6.0, std::max(6.0, f_.plot.width() - width - 2));
        box = {left, place == 0 ? kStepBandHeight - kRulerHeight + 1.0 : 1.0 - kRulerHeight, width,
               kStepBandHeight - 2.0};
    } else if (edge_ == Qt::TopEdge) {
        box.moveTop(f_.caption_top + (height + 4) * (place - kInRuler) + 4);
    }
    p_.save();
    p_.setClipping(false);
    p_.setFont(f_.font);
    if (edge_ == Qt::TopEdge && place == 0) hideCutLabels(box);
    p_.fillRect(box, f_.theme.header);
    p_.fillRect(QRectF(box.left(), box.top(), 3, box.height()), colour);
    p_.setPen(f_.theme.text);
    p_.drawText(box.adjusted(8, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                metrics.elidedText(caption, Qt::ElideRight, box.width() - 12));
    p_.restore();
}

} // namespace bubblescope::gui
