#include "app/gui/timeline/row_painter.h"

#include "app/gui/timeline/time_axis.h"
#include "core/parallel/parallel.h"

#include <QBrush>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr double kGapFrom = 3; ///< shapes at least this wide leave a gap of one pixel before the next

bool isTransfer(Role role) {
    return role == Role::Send || role == Role::Receive || role == Role::Wait;
}

} // namespace

RowPainter::RowPainter(QPainter& painter, const TimelineFrame& frame) : p_(painter), f_(frame) {
    const auto addInside = [&](double x, std::vector<double>& out) {
        if (x >= 0 && x < f_.plot.width()) out.push_back(x);
    };
    const TimeScale& scale = f_.geometry.scale;
    for (const Tick& tick : makeTicks(scale, rulerOrigin(f_.session, f_.step, scale.range), kTickRoom)) {
        if (tick.major) addInside(std::round(tick.x), ticks_);
    }
    for (const StepSpan& span : stepSpans(f_)) {
        addInside(std::round(scale.x(span.window.begin)), edges_);
        addInside(std::round(scale.x(span.window.end)), edges_);
    }
}

void RowPainter::paint() {
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    std::vector<TimelineShape> shapes;
    if (f_.pixels != nullptr) {
        shapes = fillPixels(*f_.pixels);
    } else {
        layGround({0, f_.plot.height()}, [&](const QRectF& rect, const QColor& colour) { p_.fillRect(rect, colour); });
        shapes = buildShapes(f_.geometry);
        const QBrush hatch(hatchTile(f_.theme, f_.geometry.device_pixel_ratio));
        for (const TimelineShape& shape : shapes)
            fillShape(shape, hatch);
    }
    // Draws texts grouped by font: changing the font takes longer than drawing a text.
    for (const bool comm : {false, true}) {
        p_.setFont(comm ? smallFont(f_.font) : f_.font);
        for (const TimelineShape& shape : shapes) {
            if (!shape.label.isEmpty() && isTransfer(shape.role) == comm) paintLabel(shape);
        }
    }
    p_.restore();
}

/// Each full row on its own; what is below them, and compact rows, in some parts.
std::vector<RowPainter::Lines> RowPainter::divided(const FullRows& rows) const {
    constexpr int kLines = 128;
    std::vector<Lines> out;
    int done = 0;
    const auto addUntil = [&](int end) {
        for (; done < end; done = out.back().end)
            out.push_back({done, std::min(end, done + kLines)});
    };
    for (const int row : rows.rows()) {
        const int top = f_.geometry.rows.rowTop(row) - f_.geometry.scroll_y;
        addUntil(std::max(0, top));
        out.push_back({done, std::min(f_.plot.height(), top + f_.geometry.rows.heightOf(row)), row});
        done = out.back().end;
    }
    addUntil(f_.plot.height());
    return out;
}

template <class Fill>
void RowPainter::layGround(const Lines& lines, const Fill& fill) const {
    const RowLayout& rows = f_.geometry.rows;
    const int scroll = f_.geometry.scroll_y;
    const int content = rows.contentHeight() - scroll;
    const auto add = [&](double x, double width, int top, int bottom, const QColor& colour) {
        top = std::max(top, lines.begin);
        bottom = std::min(bottom, lines.end);
        if (top < bottom) fill(QRectF(x, top, width, bottom - top), colour);
    };
    const int width = f_.plot.width();
    // Compact ones have one ground, and separators would cover them.
    const int first = rows.compact() ? -1 : rows.rowAt(lines.begin + scroll);
    const auto forRows = [&](const auto& visit) {
        for (int row = first; row >= 0 && row < rows.rowCount() && rows.rowTop(row) - scroll < lines.end; ++row)
            visit(row);
    };
    if (rows.compact()) add(0, width, 0, content, f_.theme.timeline);
    forRows([&](int row) {
        add(0, width, rows.rowTop(row) - scroll, rows.rowTop(row + 1) - scroll,
            row % 2 == 1 ? f_.theme.timeline_odd : f_.theme.timeline);
    });
    add(0, width, content, f_.plot.height(), f_.theme.header);
    for (const double x : ticks_)
        add(x, 1, 0, content, f_.theme.grid);
    forRows([&](int row) {
        add(0, width, rows.rowTop(row + 1) - 1 - scroll, rows.rowTop(row + 1) - scroll, f_.theme.grid);
    });
    for (const double x : edges_)
        add(x, 1, 0, content, f_.theme.line);
}

/// A row's lines stay in the cache from its ground to its last op. Returns the shapes that have labels.
std::vector<TimelineShape> RowPainter::fillPixels(PixelCanvas& pixels) const {
    const FullRows rows(f_.geometry);
    const RoleFills fills(f_.theme, f_.session.run.schedule.vpp, f_.geometry.device_pixel_ratio);
    const std::vector<Lines> parts = divided(rows);
    std::vector<std::vector<TimelineShape>> large(parts.size());
    parallelFor(parts.size(), [&](std::size_t i) {
        layGround(parts[i], [&](const QRectF& rect, const QColor& colour) { pixels.fill(rect, colour.rgb()); });
        if (parts[i].row < 0) return;
        static thread_local RowShapes shapes; // of some hundred kilobytes, for every row of a frame
        rows.build(parts[i].row, shapes);
        const auto fill = [&](std::vector<TimelineShape>& some) {
            for (TimelineShape& shape : some) {
                const PixelBox box = pixels.boxOf(bodyOf(shape));
                if (shape.bad)
                    pixels.fillDevice(box, f_.theme.bad.rgb());
                else
                    fills.fill(pixels, box, shape.role, shape.chunk);
                if (mayBearLabel(shape)) large[i].push_back(std::move(shape));
            }
        };
        fill(shapes.ops);
        const LaneBand& band = f_.geometry.rows.bands().front();
        const int bottom =
            pixels.device(f_.geometry.rows.rowTop(parts[i].row) + band.top + band.height - f_.geometry.scroll_y);
        const double gap = kGapFrom * f_.geometry.device_pixel_ratio;
        for (StackPiece& piece : shapes.stacks) {
            if (piece.end - piece.begin >= gap) --piece.end;
            fills.stack(pixels, piece, bottom);
        }
        fill(shapes.lanes);
    });
    std::vector<TimelineShape> labelled;
    for (std::vector<TimelineShape>& of_part : large) {
        for (TimelineShape& shape : of_part) {
            shape.label = shapeLabel(f_.geometry, shape);
            if (!shape.label.isEmpty()) labelled.push_back(std::move(shape));
        }
    }
    return labelled;
}

QRectF RowPainter::bodyOf(const TimelineShape& shape) const {
    QRectF body = shape.rect;
    if (body.width() >= kGapFrom) body.setWidth(body.width() - 1 / f_.geometry.device_pixel_ratio);
    return body;
}

QColor RowPainter::colourOf(const TimelineShape& shape) const {
    if (shape.bad) return f_.theme.bad;
    return f_.theme.fill(shape.role, shape.chunk, isOpRole(shape.role) ? f_.session.run.schedule.vpp : 1);
}

void RowPainter::fillShape(const TimelineShape& shape, const QBrush& hatch) {
    if (shape.role == Role::Bubble)
        p_.fillRect(bodyOf(shape), hatch);
    else
        p_.fillRect(bodyOf(shape), colourOf(shape));
}

void RowPainter::paintLabel(const TimelineShape& shape) {
    LabelCache* laid = isTransfer(shape.role) ? f_.smaller : f_.labels;
    const bool line = !shape.label.contains(QLatin1Char('\n'));
    const QRectF body = bodyOf(shape);
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

} // namespace bubblescope::gui
