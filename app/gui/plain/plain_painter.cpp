#include "app/gui/plain/plain_painter.h"

#include "app/gui/timeline/counters.h"
#include "app/gui/timeline/draw.h"
#include "app/gui/timeline/raw_painter.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QImage>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

struct PlainPainterText {
    Q_DECLARE_TR_FUNCTIONS(PlainView)
};

constexpr int kPlainNameLeft = 18; ///< right of the fold marker
constexpr std::size_t kMostArrows = 1500;

} // namespace

template <class Paint>
void PlainPainter::inPlot(const Paint& paint) {
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    paint();
    p_.restore();
}

const PlainRow& PlainPainter::rowOf(int lane) const {
    return f_.input.layout.rows()[static_cast<std::size_t>(f_.input.layout.rowOf(lane))];
}

/// Dimmed if others are marked: three quarters of the background.
QColor PlainPainter::colourOf(StringId name) const {
    const QColor own = rawColour(f_.theme, name);
    if (f_.marked_names.empty() || f_.marked_names[name]) return own;
    const QColor& ground = f_.theme.timeline;
    return QColor((own.red() + 3 * ground.red()) / 4, (own.green() + 3 * ground.green()) / 4,
                  (own.blue() + 3 * ground.blue()) / 4);
}

void PlainPainter::paintBase(QImage& image, LabelCache& labels) {
    paintGround();
    PixelCanvas pixels(image, f_.plot, f_.input.device_pixel_ratio);
    paintShapes(pixels, labels);
    paintInstants(pixels);
    if (f_.all_flows) paintFlows();
    paintMarks();
    paintRuler();
    paintNames();
}

void PlainPainter::paintGround() {
    const Theme& theme = f_.theme;
    const QRect& plot = f_.plot;
    p_.fillRect(QRect(0, 0, plot.right() + 1, plot.bottom() + 1), theme.header);
    p_.save();
    p_.setClipRect(plot);
    const auto& rows = f_.input.layout.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!f_.input.sees(rows[i])) continue;
        const QRect box(plot.left(), plot.top() + rows[i].top - f_.input.scroll, plot.width(), rows[i].height);
        p_.fillRect(box, rows[i].header() ? theme.header : i % 2 == 1 ? theme.timeline_odd : theme.timeline);
        p_.fillRect(QRect(box.left(), box.bottom(), box.width(), 1), theme.grid);
    }
    const int end = std::min(plot.height(), f_.input.layout.contentHeight() - f_.input.scroll);
    for (const Tick& tick : makeTicks(f_.input.scale, TimeNs{0}, kTickRoom)) {
        if (tick.major && tick.x >= 0)
            p_.fillRect(QRectF(plot.left() + std::round(tick.x), plot.top(), 1, end), theme.grid);
    }
    p_.restore();
}

void PlainPainter::paintShapes(PixelCanvas& pixels, LabelCache& labels) {
    inPlot([&] {
        p_.setFont(smallFont(f_.font));
        labels.setFont(p_.font());
        const SliceTarget target{p_, f_.input.device_pixel_ratio, &pixels, &labels};
        for (const SliceShape& shape : buildPlainShapes(f_.input))
            drawSlice(target, shape, colourOf(shape.name));
    });
    for (const PlainCounterShape& shape : buildPlainCounters(f_.input))
        pixels.fill(shape.rect, f_.theme.fill(Role::Check).rgb());
}

/// A small mark at the top of the lane, above its slices; one per pixel.
void PlainPainter::paintInstants(PixelCanvas& pixels) {
    const TimeScale& scale = f_.input.scale;
    for (const PlainRow& row : f_.input.layout.rows()) {
        if (row.header() || !f_.input.sees(row)) continue;
        const auto& instants = f_.input.trace.lanes()[static_cast<std::size_t>(row.lane)].instants;
        auto at = std::ranges::lower_bound(instants, scale.range.begin.count());
        while (at != instants.end() && *at < scale.range.end.count()) {
            const double x = std::floor(scale.x(TimeNs{*at}));
            pixels.fill(QRectF(x - 1, row.top - f_.input.scroll, 2, 3), f_.theme.text_dim.rgb());
            const TimeNs next = std::max(scale.time(x + 1), TimeNs{*at + 1});
            at = std::lower_bound(at, instants.end(), next.count());
        }
    }
}

void PlainPainter::paintFlows() {
    inPlot([&] {
        p_.setRenderHint(QPainter::Antialiasing);
        QColor colour = f_.theme.text_dim;
        colour.setAlpha(150);
        p_.setPen(QPen(colour, 1));
        const TimeRange& range = f_.input.scale.range;
        const auto& flows = f_.input.trace.flows();
        auto flow =
            std::ranges::lower_bound(flows, range.begin, {}, [](const PlainFlow& one) { return one.from.time; });
        std::size_t drawn = 0;
        for (; flow != flows.end() && flow->from.time < range.end && drawn < kMostArrows; ++flow) {
            const auto line = plainArrow(f_.input, *flow);
            if (!line || std::max(line->y1(), line->y2()) < 0 || std::min(line->y1(), line->y2()) > f_.plot.height())
                continue;
            p_.drawLine(*line);
            ++drawn;
        }
    });
}

void PlainPainter::paintMarks() {
    if (f_.marked.empty()) return;
    inPlot([&] {
        for (const PlainMark& mark : buildPlainMarks(f_.input, f_.marked)) {
            const PlainRow& row = f_.input.layout.rows()[static_cast<std::size_t>(mark.row)];
            p_.fillRect(QRectF(mark.x, row.top - f_.input.scroll, 2, 3), f_.theme.selection);
        }
    });
}

void PlainPainter::paintRuler() {
    const QRect band(0, 0, f_.plot.right() + 1, f_.plot.top());
    p_.fillRect(band, f_.theme.header);
    p_.setFont(smallFont(f_.font));
    drawRuler(p_, f_.theme, makeTicks(f_.input.scale, TimeNs{0}, kTickRoom), band, f_.plot.left(),
              PlainPainterText::tr("time since the first event"));
}

void PlainPainter::paintNames() {
    const Theme& theme = f_.theme;
    const int ruler = f_.plot.top();
    const int names = f_.plot.left();
    const int width = f_.plot.right() + 1;
    QFont bold = f_.font;
    bold.setBold(true);
    const QFont small = smallFont(f_.font);
    p_.save();
    p_.setClipRect(QRect(0, ruler, width, f_.plot.height()));
    const auto write = [&](const QRect& box, const QString& name) {
        p_.drawText(box, Qt::AlignLeft | Qt::AlignVCenter,
                    QFontMetrics(p_.font()).elidedText(name, Qt::ElideMiddle, box.width()));
    };
    for (const PlainRow& row : f_.input.layout.rows()) {
        if (!f_.input.sees(row)) continue;
        const int top = ruler + row.top - f_.input.scroll;
        if (row.header()) {
            p_.fillRect(QRect(0, top, width, row.height - 1), theme.header);
            drawFold(p_, theme, !f_.folds.hasProcess(row.process), {kPlainNameLeft / 2.0, top + row.height / 2.0});
            p_.setFont(bold);
            p_.setPen(theme.text);
            write(QRect(kPlainNameLeft, top, width - kPlainNameLeft - 6, row.height - 1),
                  f_.input.trace.processes()[static_cast<std::size_t>(row.process)].name);
            continue;
        }
        const PlainLane& lane = f_.input.trace.lanes()[static_cast<std::size_t>(row.lane)];
        p_.fillRect(QRect(0, top, names, row.height), theme.header);
        p_.fillRect(QRect(0, top + row.height - 1, names, 1), theme.grid);
        p_.setFont(small);
        p_.setPen(theme.text_dim);
        // A name stays in sight while its lane scrolls past.
        QRect box(kPlainNameLeft, std::max(top, ruler), names - kPlainNameLeft - 8, std::min(row.height, 20));
        box.moveBottom(std::min(box.bottom(), top + row.height - 1));
        write(box, lane.isCounter() ? lane.name + QStringLiteral("  ") +
                                          PlainPainterText::tr("max %1").arg(counterText(lane.high, lane.name))
                                    : lane.name);
    }
    p_.restore();
    p_.fillRect(QRect(names - 1, 0, 1, f_.plot.bottom() + 1), theme.line);
}

void PlainPainter::paintArea(const PlainArea& area) {
    const double left = f_.input.scale.x(area.range.begin);
    const double width = f_.input.scale.x(area.range.end) - left;
    const PlainRow& first = rowOf(area.first_lane);
    const PlainRow& last = rowOf(area.end_lane - 1);
    QColor veil = f_.theme.selection;
    veil.setAlpha(40);
    const QRectF box(left, first.top - f_.input.scroll, width, last.top + last.height - first.top);
    p_.fillRect(box, veil);
    p_.setPen(QPen(f_.theme.selection, 1));
    p_.drawRect(box);
    p_.setClipRect(QRect(0, -f_.plot.top(), f_.plot.width(), f_.plot.height()));
    p_.fillRect(QRectF(left, -4, width, 4), f_.theme.selection);
}

void PlainPainter::paintOverlay(const PlainOverlay& overlay) {
    if (!overlay.area.empty()) inPlot([&] { paintArea(overlay.area); });
    inPlot([&] {
        const QRectF in_sight(-4, -1e6, f_.plot.width() + 8, 2e6);
        if (overlay.hover != kNoId && overlay.hover != overlay.selection)
            drawOutline(p_, plainRect(f_.input, overlay.hover) & in_sight, f_.theme.hover, 1);
        if (overlay.selection != kNoId)
            drawOutline(p_, plainRect(f_.input, overlay.selection) & in_sight, f_.theme.selection, 2);
        p_.setRenderHint(QPainter::Antialiasing);
        for (std::size_t i = 0; i < std::min(kMostArrows, overlay.flows.size()); ++i) {
            if (const auto line = plainArrow(f_.input, overlay.flows[i])) drawArrow(p_, *line, f_.theme.selection, 1.5);
        }
    });
}

} // namespace bubblescope::gui
