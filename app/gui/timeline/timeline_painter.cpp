#include "app/gui/timeline/timeline_painter.h"

#include "app/gui/language/text.h"
#include "app/gui/models/rows.h"
#include "app/gui/timeline/compact_row.h"
#include "app/gui/timeline/time_axis.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QPainter>
#include <QPixmap>
#include <QPixmapCache>

#include <algorithm>

namespace bubblescope::gui {

namespace {

struct TimelineText {
    Q_DECLARE_TR_FUNCTIONS(TimelinePainter)
};

constexpr double kTickRoom = 96; ///< pixels between labelled ticks
constexpr double kGapFrom = 3;   ///< shapes at least this wide leave a gap of one pixel before the next
constexpr int kHatchSize = 8;
constexpr int kHatchRepeats = 32;
constexpr int kNameLeft = 16;           ///< left edge of a rank's name, right of the fold marker
constexpr double kStepScaleLimit = 1.6; ///< in longer views (in steps) times count from the first step

bool isTransfer(Role role) {
    return role == Role::Send || role == Role::Receive || role == Role::Wait;
}

} // namespace

bool countsInStep(const Session& session, int step, const TimeRange& visible) {
    return static_cast<double>(visible.length().count()) <
           kStepScaleLimit * static_cast<double>(session.window(step).length().count());
}

TimeNs rulerOrigin(const Session& session, int step, const TimeRange& visible) {
    return countsInStep(session, step, visible) ? session.window(step).begin : session.window(0).begin;
}

QPixmap hatchTile(const Theme& theme, double ratio) {
    const QString key =
        QStringLiteral("hatch %1 %2 %3").arg(theme.bubble_background.rgba()).arg(theme.bubble_hatch.rgba()).arg(ratio);
    if (QPixmap known; QPixmapCache::find(key, &known)) return known;
    const int size = static_cast<int>(std::lround(kHatchSize * ratio));
    // Several tiles side by side: the raster engine copies one line of a tile at a time, and long lines are many times
    // faster.
    QPixmap tile(size * kHatchRepeats, size);
    tile.fill(theme.bubble_background);
    QPainter painter(&tile);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.bubble_hatch, 1.2 * ratio));
    // Draws beyond the edges too, so that lines continue across the borders of tiles.
    for (int shift = -size; shift <= size * kHatchRepeats; shift += size)
        painter.drawLine(shift, size, shift + size, 0);
    painter.end();
    tile.setDevicePixelRatio(ratio);
    QPixmapCache::insert(key, tile);
    return tile;
}

QFont smallFont(QFont font) {
    font.setPointSizeF(std::max(6.5, font.pointSizeF() * 0.85));
    return font;
}

TimelinePainter::TimelinePainter(QPainter& painter, const TimelineFrame& frame)
    : p_(painter), f_(frame), small_(smallFont(frame.font)), bold_(frame.font) {
    bold_.setBold(true);
}

void TimelinePainter::paintBase() {
    paintRows();
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    paintStepEdges();
    paintShapes();
    p_.restore();
    CompactRowPainter(p_, f_).paint();
    paintRuler();
    paintHeader();
    paintGroups();
    CompactRowPainter(p_, f_).paintStrips();
    paintPins();
}

void TimelinePainter::paintRows() {
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setClipRect(f_.plot);
    const int content = rows.contentHeight() - f_.geometry.scroll_y;
    const bool fine = rows.compact(); // in compact rows separators would cover the rows
    if (fine) p_.fillRect(QRect(f_.plot.left(), f_.plot.top(), f_.plot.width(), content), f_.theme.timeline);
    for (int row = std::max(0, rows.rowAt(f_.geometry.scroll_y)); row < rows.rowCount() && !fine; ++row) {
        const int top = f_.plot.top() + rows.rowTop(row) - f_.geometry.scroll_y;
        if (top > f_.plot.bottom()) break;
        p_.fillRect(QRect(f_.plot.left(), top, f_.plot.width(), rows.heightOf(row)),
                    row % 2 == 1 ? f_.theme.timeline_odd : f_.theme.timeline);
    }
    p_.fillRect(QRect(f_.plot.left(), f_.plot.top() + content, f_.plot.width(), f_.plot.height() - content),
                f_.theme.header);
    const TimeNs origin = rulerOrigin(f_.session, f_.step, f_.geometry.scale.range);
    const int bottom = std::min(f_.plot.height(), content);
    for (const Tick& tick : makeTicks(f_.geometry.scale, origin, kTickRoom)) {
        if (tick.major && tick.x >= 0)
            p_.fillRect(QRectF(f_.plot.left() + std::round(tick.x), f_.plot.top(), 1, bottom), f_.theme.grid);
    }
    for (int row = 0; row < rows.rowCount() && !fine; ++row) {
        const int y = f_.plot.top() + rows.rowTop(row + 1) - 1 - f_.geometry.scroll_y;
        p_.fillRect(QRect(f_.plot.left(), y, f_.plot.width(), 1), f_.theme.grid);
    }
    p_.restore();
}

/// The visible steps. Replicas of a step have one span: steps are sorted by number, the replicas of one adjacent.
std::vector<TimelinePainter::StepSpan> TimelinePainter::stepSpans() const {
    std::vector<StepSpan> spans;
    for (int step = 0; step < f_.session.stepCount(); ++step) {
        StepSpan span{f_.session.step(step).index, f_.session.window(step), step == f_.step};
        while (step + 1 < f_.session.stepCount() && f_.session.step(step + 1).index == span.number) {
            ++step;
            span.window.begin = std::min(span.window.begin, f_.session.window(step).begin);
            span.window.end = std::max(span.window.end, f_.session.window(step).end);
            span.current = span.current || step == f_.step;
        }
        if (overlap(span.window, f_.geometry.scale.range) > TimeNs{0}) spans.push_back(span);
    }
    return spans;
}

void TimelinePainter::paintStepEdges() {
    const int height = std::min(f_.plot.height(), f_.geometry.rows.contentHeight() - f_.geometry.scroll_y);
    for (const StepSpan& span : stepSpans()) {
        for (const TimeNs edge : {span.window.begin, span.window.end}) {
            const double x = std::round(f_.geometry.scale.x(edge));
            if (x >= 0 && x < f_.plot.width()) p_.fillRect(QRectF(x, 0, 1, height), f_.theme.line);
        }
    }
}

void TimelinePainter::paintShapes() {
    const QPixmap tile = hatchTile(f_.theme, f_.geometry.device_pixel_ratio);
    const QBrush hatch(tile);
    if (f_.pixels != nullptr) hatch_ = tile.toImage().convertToFormat(QImage::Format_RGB32);
    for (const TimelineShape& shape : f_.shapes)
        fillBody(shape, hatch);
    // Draws texts grouped by font: changing the font takes longer than drawing a text.
    for (const bool comm : {false, true}) {
        p_.setFont(comm ? small_ : f_.font);
        for (const TimelineShape& shape : f_.shapes) {
            if (!shape.label.isEmpty() && isTransfer(shape.role) == comm) paintLabel(shape);
        }
    }
}

void TimelinePainter::fillBody(const TimelineShape& shape, const QBrush& hatch) {
    QRectF body = shape.rect;
    if (body.width() >= kGapFrom) body.setWidth(body.width() - 1 / f_.geometry.device_pixel_ratio);
    if (shape.role == Role::Bubble) {
        if (f_.pixels != nullptr) return f_.pixels->fillTiled(body, hatch_);
        return p_.fillRect(body, hatch);
    }
    const QColor background =
        shape.bad ? f_.theme.bad
                  : f_.theme.fill(shape.role, shape.chunk, isOpRole(shape.role) ? f_.session.run.schedule.vpp : 1);
    if (f_.pixels != nullptr) return f_.pixels->fill(body, background.rgb());
    p_.fillRect(body, background);
}

void TimelinePainter::paintLabel(const TimelineShape& shape) {
    LabelCache* laid = isTransfer(shape.role) ? f_.smaller : f_.labels;
    const bool line = !shape.label.contains(QLatin1Char('\n'));
    QRectF body = shape.rect;
    if (body.width() >= kGapFrom) body.setWidth(body.width() - 1 / f_.geometry.device_pixel_ratio);
    if (shape.role == Role::Bubble) {
        // A plain background behind the text: hatching through letters is hard to read.
        QRectF background({}, f_.geometry.text_size(shape.label) + QSizeF(8, 2));
        background.moveCenter(body.center());
        p_.fillRect(background & body, f_.theme.bubble_background);
        p_.setPen(f_.theme.text);
    } else {
        p_.setPen(
            textOn(shape.bad ? f_.theme.bad : f_.theme.fill(shape.role, shape.chunk, f_.session.run.schedule.vpp)));
    }
    if (laid != nullptr && line) return laid->draw(p_, body, shape.label);
    p_.drawText(body, shape.role == Role::Bubble ? Qt::AlignCenter : Qt::AlignCenter | Qt::TextSingleLine, shape.label);
}

void TimelinePainter::paintRuler() {
    const QRect band(f_.plot.left(), 0, f_.plot.width(), kRulerHeight);
    p_.fillRect(QRect(0, 0, f_.plot.right() + 1, kRulerHeight), f_.theme.header);
    paintStepBand();

    p_.save();
    p_.setClipRect(band);
    p_.setFont(small_);
    const TimeNs origin = rulerOrigin(f_.session, f_.step, f_.geometry.scale.range);
    for (const Tick& tick : makeTicks(f_.geometry.scale, origin, kTickRoom)) {
        const int x = band.left() + static_cast<int>(std::lround(tick.x));
        const int height = tick.major ? 7 : 4;
        p_.fillRect(QRect(x, kRulerHeight - height, 1, height), tick.major ? f_.theme.text_dim : f_.theme.line);
        // Skips labels that would be cut off at the edge: the number would be wrong.
        if (!tick.major || x + 4 + QFontMetrics(small_).horizontalAdvance(tick.label) > band.right()) continue;
        p_.setPen(f_.theme.text_dim);
        p_.drawText(QRect(x + 4, kStepBandHeight, static_cast<int>(kTickRoom), kTickBandHeight - 4),
                    Qt::AlignLeft | Qt::AlignVCenter, tick.label);
    }
    p_.restore();
    p_.fillRect(QRect(0, kRulerHeight - 1, f_.plot.right() + 1, 1), f_.theme.line);

    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    const QString note = countsInStep(f_.session, f_.step, f_.geometry.scale.range)
                             ? TimelineText::tr("time in step %1").arg(f_.session.step(f_.step).index)
                             : TimelineText::tr("time since step %1").arg(f_.session.step(0).index);
    p_.drawText(QRect(12, kStepBandHeight, kHeaderWidth - 20, kTickBandHeight - 4), Qt::AlignRight | Qt::AlignVCenter,
                note);
}

void TimelinePainter::paintStepBand() {
    p_.save();
    p_.setClipRect(QRect(f_.plot.left(), 0, f_.plot.width(), kStepBandHeight));
    p_.setFont(small_);
    const QFontMetrics metrics(small_);
    for (const auto& [number, window, current] : stepSpans()) {
        const int left = std::max(-1, static_cast<int>(std::lround(f_.geometry.scale.x(window.begin))));
        const int right = std::min(f_.plot.width() + 1, static_cast<int>(std::lround(f_.geometry.scale.x(window.end))));
        const QRect box(f_.plot.left() + left, 2, std::max(1, right - left), kStepBandHeight - 3);
        const QColor background = current ? f_.theme.palette.color(QPalette::Highlight) : f_.theme.line;
        p_.fillRect(box.adjusted(0, 0, box.width() > 3 ? -1 : 0, 0), background);
        p_.setPen(textOn(background));
        for (const QString& label : {TimelineText::tr("step %1 · %2").arg(number).arg(shortTime(window.length())),
                                     TimelineText::tr("step %1").arg(number), QString::number(number)}) {
            if (metrics.horizontalAdvance(label) + 6 > box.width()) continue;
            p_.drawText(box, Qt::AlignCenter, label);
            break;
        }
    }
    p_.restore();
}

void TimelinePainter::paintHeader() {
    const RowLayout& rows = f_.geometry.rows;
    const QRect column(0, kRulerHeight, kHeaderWidth, f_.plot.height());
    p_.fillRect(column, f_.theme.header);
    p_.save();
    p_.setClipRect(column);
    if (rows.compact()) CompactRowPainter(p_, f_).paintNames(column);
    for (int row = 0; row < rows.rowCount() && !rows.compact(); ++row) {
        if (rows.isHeader(row)) continue;
        const int top = kRulerHeight + rows.rowTop(row) - f_.geometry.scroll_y;
        const QRect area(0, top, kHeaderWidth - 1, rows.heightOf(row));
        if (!area.intersects(column)) continue;
        paintRankHeader(row, area);
        p_.fillRect(QRect(0, area.bottom(), kHeaderWidth, 1), f_.theme.line);
    }
    p_.restore();
    p_.fillRect(QRect(kHeaderWidth - 1, 0, 1, f_.plot.bottom() + 1), f_.theme.line);
}

void TimelinePainter::paintRankHeader(int row, const QRect& area) {
    const LaneBand& compute = f_.geometry.rows.bands().front();
    const QRect box(area.left() + kNameLeft, area.top() + compute.top, area.width() - kNameLeft - 8, compute.height);
    const int line_number = f_.geometry.rows.lineAt(row);
    if (!f_.session.raw.of(line_number).empty())
        paintFold(f_.geometry.rows.rawCount(row) > 0,
                  {kNameLeft / 2.0, box.center().y() + (box.height() > 40 ? -4.0 : 0.0)});
    p_.setFont(bold_);
    p_.setPen(f_.theme.text);
    const auto rank = static_cast<std::size_t>(f_.session.lanes.rankOf(line_number));
    const StepAnalysis& analysis = f_.session.analysis(f_.session.stepOn(line_number, f_.step));
    const QString name = lineName(f_.session, line_number);
    paintLaneNames(area.top(), area);
    if (rank >= analysis.ranks.size() || analysis.wall <= TimeNs{0}) {
        p_.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, name);
        return;
    }
    const RankAccount& account = analysis.ranks[rank];
    const double bubble = static_cast<double>(account.bubble.count()) / static_cast<double>(analysis.wall.count());
    const int line = QFontMetrics(bold_).height();
    const bool tall = compute.height >= line + 14;
    QRect text = box;
    if (tall) text.setHeight(box.height() - 8);
    p_.drawText(text, Qt::AlignLeft | Qt::AlignVCenter, name);
    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    // The full caption if there is room beside the name.
    const QString word = TimelineText::tr("bubble %1").arg(percent(bubble));
    const int room = text.width() - QFontMetrics(bold_).horizontalAdvance(name) - 4;
    const bool fits = QFontMetrics(small_).horizontalAdvance(word) <= room;
    p_.drawText(text, Qt::AlignRight | Qt::AlignVCenter, fits ? word : percent(bubble));
    if (!tall) return;
    // The bubble's share as a bar, as the caption states it.
    const QRect bar(box.left(), text.center().y() + line / 2 + 4, box.width(), 4);
    p_.fillRect(bar, f_.theme.line);
    const int idle = static_cast<int>(std::lround(bar.width() * std::clamp(bubble, 0.0, 1.0)));
    p_.fillRect(QRect(bar.left(), bar.top(), idle, bar.height()), f_.theme.text_dim);
}

/// A triangle that shows whether the rank is unfolded.
void TimelinePainter::paintFold(bool open, const QPointF& centre) {
    QPolygonF triangle;
    if (open) {
        triangle << centre + QPointF(-4, -2) << centre + QPointF(4, -2) << centre + QPointF(0, 3);
    } else {
        triangle << centre + QPointF(-2, -4) << centre + QPointF(-2, 4) << centre + QPointF(3, 0);
    }
    p_.save();
    p_.setRenderHint(QPainter::Antialiasing);
    p_.setPen(Qt::NoPen);
    p_.setBrush(f_.theme.text_dim);
    p_.drawPolygon(triangle);
    p_.restore();
}

void TimelinePainter::paintLaneNames(int top, const QRect& area) {
    p_.save();
    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    for (const LaneBand& band : f_.geometry.rows.bands()) {
        if (band.kind == LaneKind::Compute) continue;
        const QString name = band.kind == LaneKind::Send      ? TimelineText::tr("send")
                             : band.kind == LaneKind::Receive ? TimelineText::tr("receive")
                             : band.kind == LaneKind::Wait    ? TimelineText::tr("wait")
                                                              : TimelineText::tr("all-reduce");
        p_.drawText(QRect(area.left(), top + band.top - 1, area.width() - 8, band.height + 2),
                    Qt::AlignRight | Qt::AlignVCenter, name);
    }
    p_.restore();
}

void TimelinePainter::paintOverlay(const ItemRef& selection, const ItemRef& hover,
                                   const std::vector<Highlight>& highlights) {
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    for (const Highlight& highlight : highlights)
        paintHighlight(highlight);
    if (selection.kind == ItemKind::Bubble) {
        // Also marks the other bubbles of the position, which the table counts together with the selected one.
        const auto& all = f_.session.analysis(selection.step).bubbles[static_cast<std::size_t>(selection.rank)];
        const Position position = f_.session.bubble(selection).position;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const ItemRef other{ItemKind::Bubble, selection.step, selection.rank, static_cast<std::int32_t>(i)};
            if (all[i].position == position && other != selection) outline(other, f_.theme.selection, 1, true);
        }
    }
    if (hover && hover != selection) outline(hover, f_.theme.hover, 1, false);
    if (selection) outline(selection, f_.theme.selection, 2, false);
    p_.restore();
}

/// Brackets above and below the interval, with a translucent fill.
void TimelinePainter::paintHighlight(const Highlight& highlight) {
    if (overlap(highlight.range, f_.geometry.scale.range) == TimeNs{0}) return;
    const RowLayout& rows = f_.geometry.rows;
    const int row = rows.rowOf(f_.session.lanes.lineOf(highlight.step < 0 ? f_.step : highlight.step, highlight.rank));
    if (row < 0) return;
    const LaneBand& band = rows.bands().front();
    const int top = rows.rowTop(row) + band.top - f_.geometry.scroll_y;
    if (top + band.height < 0 || top > f_.plot.height()) return;
    const double left = std::round(std::max(-2.0, f_.geometry.scale.x(highlight.range.begin)));
    const double right = std::round(std::min(f_.plot.width() + 2.0, f_.geometry.scale.x(highlight.range.end)));
    const QRectF box(left, top, std::max(1.0, right - left), band.height);
    QColor veil = f_.theme.selection;
    veil.setAlpha(56);
    p_.fillRect(box, veil);
    p_.fillRect(QRectF(box.left(), box.top() - 3, box.width(), 3), f_.theme.selection);
    p_.fillRect(QRectF(box.left(), box.bottom(), box.width(), 3), f_.theme.selection);
}

void TimelinePainter::outline(const ItemRef& item, const QColor& colour, int width, bool dashed) {
    const QRectF rect = itemRect(f_.geometry, item);
    if (rect.isEmpty()) return;
    QPen pen(colour, width, dashed ? Qt::DashLine : Qt::SolidLine);
    pen.setJoinStyle(Qt::MiterJoin);
    p_.setPen(pen);
    p_.setBrush(Qt::NoBrush);
    const double inset = width / 2.0;
    p_.drawRect(rect.adjusted(-1 + inset, -1 + inset, 1 - inset, 1 - inset));
}

namespace {

constexpr int kGroupNameLeft = 16; ///< right of the fold marker
constexpr int kPinWidth = 3;

} // namespace

/// Group headers, across names and plot.
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
        QRect name = area.adjusted(kGroupNameLeft, 0, -8, -1);
        if (rows.row(row).folded) name.setRight(kHeaderWidth - 4); // right of it is the group's strip
        p_.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                    QFontMetrics(bold_).elidedText(groupName(rows.row(row), *f_.group), Qt::ElideRight, name.width()));
    }
    p_.restore();
}

/// A bar at the edge marks pinned rows; a line marks their end.
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
