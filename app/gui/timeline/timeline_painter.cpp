#include "app/gui/timeline/timeline_painter.h"

#include "app/gui/language/text.h"
#include "app/gui/models/rows.h"
#include "app/gui/timeline/compact_row.h"
#include "app/gui/timeline/draw.h"
#include "app/gui/timeline/row_painter.h"
#include "app/gui/timeline/time_axis.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QPainter>

#include <algorithm>

namespace bubblescope::gui {

namespace {

constexpr int kPinWidth = 3;
constexpr int kNameLeft = 16;           ///< left edge of a rank's name, to the right of the fold marker
constexpr double kStepScaleLimit = 1.6; ///< in views longer than this many steps, times are relative to the first step

} // namespace

bool countsInStep(const Session& session, int step, const TimeRange& visible) {
    return session.hasSteps() && static_cast<double>(visible.length().count()) <
                                     kStepScaleLimit * static_cast<double>(session.window(step).length().count());
}

TimeNs rulerOrigin(const Session& session, int step, const TimeRange& visible) {
    return countsInStep(session, step, visible) ? session.window(step).begin : session.originOf(0);
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
    RowPainter(p_, f_).paint([this] {
        paintRuler();
        paintHeader();
    });
    paintTitles();
    CompactRowPainter(p_, f_).paintStrips();
    paintPins();
}

std::vector<StepSpan> stepSpans(const TimelineFrame& frame) {
    // Steps are sorted by number, so replicas of a step are adjacent.
    std::vector<StepSpan> spans;
    for (int step = 0; step < frame.session.stepCount(); ++step) {
        StepSpan span{frame.session.step(step).index, frame.session.window(step), step == frame.step};
        while (step + 1 < frame.session.stepCount() && frame.session.step(step + 1).index == span.number) {
            ++step;
            span.window.begin = std::min(span.window.begin, frame.session.window(step).begin);
            span.window.end = std::max(span.window.end, frame.session.window(step).end);
            span.current = span.current || step == frame.step;
        }
        if (overlap(span.window, frame.geometry.scale.range) > TimeNs{0}) spans.push_back(span);
    }
    return spans;
}

void TimelinePainter::paintRuler() {
    p_.fillRect(QRect(0, 0, f_.plot.right() + 1, kRulerHeight), f_.theme.header);
    paintStepBand();
    const TimeRange& visible = f_.geometry.scale.range;
    const QString note = !f_.session.hasSteps() ? tr("since the first event")
                         : countsInStep(f_.session, f_.step, visible)
                             ? tr("time in step %1").arg(f_.session.step(f_.step).index)
                             : tr("time since step %1").arg(f_.session.step(0).index);
    p_.setFont(small_);
    drawRuler(p_, f_.theme, makeTicks(f_.geometry.scale, rulerOrigin(f_.session, f_.step, visible), kTickRoom),
              QRect(0, kStepBandHeight, f_.plot.right() + 1, kTickBandHeight), f_.plot.left(), note);
}

void TimelinePainter::paintStepBand() {
    p_.save();
    p_.setClipRect(QRect(f_.plot.left(), 0, f_.plot.width(), kStepBandHeight));
    p_.setFont(small_);
    const QFontMetrics metrics(small_);
    for (const auto& [number, window, current] : stepSpans(f_)) {
        const int left = std::max(-1, static_cast<int>(std::lround(f_.geometry.scale.x(window.begin))));
        const int right = std::min(f_.plot.width() + 1, static_cast<int>(std::lround(f_.geometry.scale.x(window.end))));
        const QRect box(f_.plot.left() + left, 2, std::max(1, right - left), kStepBandHeight - 3);
        const QColor background = current ? f_.theme.palette.color(QPalette::Highlight) : f_.theme.line;
        p_.fillRect(box.adjusted(0, 0, box.width() > 3 ? -1 : 0, 0), background);
        p_.setPen(textOn(background));
        for (const QString& label : {tr("step %1 · %2").arg(number).arg(shortTime(window.length())),
                                     tr("step %1").arg(number), QString::number(number)}) {
            if (metrics.horizontalAdvance(label) + 6 > box.width()) continue;
            p_.drawText(box, Qt::AlignCenter, label);
            break;
        }
    }
    p_.restore();
}

void TimelinePainter::paintHeader() {
    if (f_.names) paintNames();
    p_.fillRect(QRect(kHeaderWidth - 1, 0, 1, f_.plot.bottom() + 1), f_.theme.line);
}

void TimelinePainter::paintNames() {
    const RowLayout& rows = f_.geometry.rows;
    const QRect column(0, kRulerHeight, kHeaderWidth, f_.plot.height());
    p_.fillRect(column, f_.theme.header);
    p_.save();
    p_.setClipRect(column);
    if (rows.compact()) CompactRowPainter(p_, f_).paintNames(column);
    const bool words = fitsBubbleWords();
    for (int row = 0; row < rows.rowCount() && !rows.compact() && f_.session.hasSteps(); ++row) {
        if (rows.isHeader(row)) continue;
        const int top = kRulerHeight + rows.rowTop(row) - f_.geometry.scroll_y;
        const QRect area(0, top, kHeaderWidth - 1, rows.heightOf(row));
        if (!area.intersects(column)) continue;
        paintRankHeader(row, area, words);
        p_.fillRect(QRect(0, area.bottom(), kHeaderWidth, 1), f_.theme.line);
    }
    p_.restore();
}

/// True if every row has space for the word "bubble" next to its name, because all rows use the same form.
bool TimelinePainter::fitsBubbleWords() const {
    const RowLayout& rows = f_.geometry.rows;
    int widest = 0;
    for (int row = 0; row < rows.rowCount() && f_.session.hasSteps(); ++row) {
        if (rows.isHeader(row)) continue;
        widest = std::max(widest, QFontMetrics(bold_).horizontalAdvance(lineName(f_.session, rows.lineAt(row))));
    }
    const QString word = tr("bubble %1").arg(percent(1));
    return widest + QFontMetrics(small_).horizontalAdvance(word) + 4 <= kHeaderWidth - 1 - kNameLeft - 8;
}

void TimelinePainter::paintRankHeader(int row, const QRect& area, bool words) {
    const LaneBand& compute = f_.geometry.rows.bands().front();
    const QRect box(area.left() + kNameLeft, area.top() + compute.top, area.width() - kNameLeft - 8, compute.height);
    const int line_number = f_.geometry.rows.lineAt(row);
    if (f_.controls() && !f_.session.raw.of(line_number).empty())
        drawFold(p_, f_.theme, f_.geometry.rows.rawCount(row) > 0,
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
    const double bubble = fractionOf(account.bubble, analysis.wall);
    const int line = QFontMetrics(bold_).height();
    const bool tall = compute.height >= line + 14;
    QRect text = box;
    if (tall) text.setHeight(box.height() - 8);
    p_.drawText(text, Qt::AlignLeft | Qt::AlignVCenter, name);
    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    p_.drawText(text, Qt::AlignRight | Qt::AlignVCenter,
                words ? tr("bubble %1").arg(percent(bubble)) : percent(bubble));
    if (!tall) return;
    // Bar for the same bubble share as in the caption.
    const QRect bar(box.left(), text.center().y() + line / 2 + 4, box.width(), 4);
    p_.fillRect(bar, f_.theme.line);
    const int idle = static_cast<int>(std::lround(bar.width() * std::clamp(bubble, 0.0, 1.0)));
    p_.fillRect(QRect(bar.left(), bar.top(), idle, bar.height()), f_.theme.text_dim);
}

void TimelinePainter::paintLaneNames(int top, const QRect& area) {
    p_.save();
    p_.setFont(small_);
    p_.setPen(f_.theme.text_dim);
    for (const LaneBand& band : f_.geometry.rows.bands()) {
        if (band.kind == LaneKind::Compute) continue;
        const QString name = band.kind == LaneKind::Send      ? tr("send")
                             : band.kind == LaneKind::Receive ? tr("receive")
                             : band.kind == LaneKind::Wait    ? tr("wait")
                                                              : tr("all-reduce");
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
    const auto outline = [this](const ItemRef& item, const QColor& colour, int width, bool dashed = false) {
        drawOutline(p_, itemRect(f_.geometry, item), colour, width, dashed);
    };
    if (selection.kind == ItemKind::Bubble) {
        // Also marks the other bubbles at the same position, which the table counts together with the selected one.
        const auto& all = f_.session.analysis(selection.step).bubbles[static_cast<std::size_t>(selection.rank)];
        const Position position = f_.session.bubble(selection).position;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const ItemRef other{ItemKind::Bubble, selection.step, selection.rank, static_cast<std::int32_t>(i)};
            if (all[i].position == position && other != selection) outline(other, f_.theme.selection, 1, true);
        }
    }
    if (hover && hover != selection) outline(hover, f_.theme.hover, 1);
    if (selection) outline(selection, f_.theme.selection, 2);
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

/// Titles across names and plot: headers of groups and, without a pipeline, names of ranks or processes.
void TimelinePainter::paintTitles() {
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setClipRect(QRect(0, kRulerHeight, f_.plot.right() + 1, f_.plot.height()));
    p_.setFont(bold_);
    for (int row = 0; row < rows.rowCount(); ++row) {
        const bool header = rows.isHeader(row);
        const bool of_tracks = header && rows.row(row).tracks_of >= 0;
        if (header ? !of_tracks && !f_.group : f_.session.hasSteps()) continue;
        const int top = kRulerHeight + rows.rowTop(row) - f_.geometry.scroll_y;
        const QRect area(0, top, f_.plot.right() + 1, header ? RowLayout::kGroupHeight : rows.rowHeight());
        if (area.top() > f_.plot.bottom() || area.bottom() < kRulerHeight) continue;
        p_.fillRect(area, f_.theme.header);
        p_.fillRect(QRect(0, area.bottom(), area.width(), 1), f_.theme.line);
        const bool open = header ? !rows.row(row).folded : rows.rawCount(row) > 0;
        if (f_.controls() && !of_tracks) drawFold(p_, f_.theme, open, {kNameLeft / 2.0, area.center().y() + 0.5});
        p_.setPen(f_.theme.text);
        QRect name = area.adjusted(kNameLeft, 0, -8, -1);
        if (header && !open) name.setRight(kHeaderWidth - 4); // the group's strip is to the right
        const QString text = header && !of_tracks
                                 ? groupName(rows.row(row), *f_.group)
                                 : lineName(f_.session, of_tracks ? rows.row(row).tracks_of : rows.lineAt(row));
        p_.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                    QFontMetrics(bold_).elidedText(text, header ? Qt::ElideRight : Qt::ElideMiddle, name.width()));
    }
    p_.restore();
}

/// Marks pinned rows with a bar at the edge, and their end with a line.
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
