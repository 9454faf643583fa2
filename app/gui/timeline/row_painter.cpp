#include "app/gui/timeline/row_painter.h"

#include "app/gui/timeline/raw_painter.h"
#include "app/gui/timeline/time_axis.h"
#include "core/base/beside.h"
#include "core/base/parallel.h"

#include <QPainter>

#include <algorithm>
#include <cmath>
#include <iterator>
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

void RowPainter::paint(const std::function<void()>& beside) {
    if (f_.pixels != nullptr) return paintPixels(*f_.pixels, beside);
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    layGround({0, f_.plot.height()}, [&](const QRectF& rect, const QColor& colour) { p_.fillRect(rect, colour); });
    RowShapes shapes = buildShapes(f_.geometry);
    const RoleFills fills(f_.theme, f_.session.run.schedule.vpp, f_.geometry.device_pixel_ratio);
    for (const TimelineShape& shape : shapes.ops)
        fillShape(shape);
    for (const StackPiece& piece : shapes.stacks)
        fillStack(piece, fills);
    for (const TimelineShape& shape : shapes.lanes)
        fillShape(shape);
    std::ranges::move(shapes.lanes, std::back_inserter(shapes.ops));
    paintLabels(shapes.ops);
    p_.restore();
    CompactRowPainter(p_, f_).paint();
    beside();
}

/// Draws texts grouped by font, because changing the font takes longer than drawing a text.
void RowPainter::paintLabels(const std::vector<TimelineShape>& shapes) {
    for (const bool comm : {false, true}) {
        p_.setFont(comm ? smallFont(f_.font) : f_.font);
        for (const TimelineShape& shape : shapes) {
            if (shape.label.isEmpty() || isTransfer(shape.role) != comm) continue;
            if (shape.role != Role::Bubble)
                paintLabel(shape);
            else if (const TimelineShape clear = clearOf(shape, shapes);
                     f_.geometry.text_size(clear.label).width() + kLabelPadding <= clear.rect.width())
                paintLabel(clear);
        }
    }
}

/// At the end of a step, an op of the next step may cover part of a bubble.
TimelineShape RowPainter::clearOf(const TimelineShape& bubble, const std::vector<TimelineShape>& shapes) {
    TimelineShape clear = bubble;
    for (const TimelineShape& other : shapes) {
        if (!isOpRole(other.role) || other.rect.top() >= bubble.rect.bottom() ||
            other.rect.bottom() <= bubble.rect.top() || !other.rect.intersects(clear.rect))
            continue;
        if (other.rect.left() - clear.rect.left() > clear.rect.right() - other.rect.right())
            clear.rect.setRight(std::max(clear.rect.left(), other.rect.left()));
        else
            clear.rect.setLeft(std::min(clear.rect.right(), other.rect.right()));
    }
    return clear;
}

/// One piece per row, and additional pieces for the space below the rows and the headers of groups.
std::vector<RowPainter::Lines> RowPainter::divided() const {
    constexpr int kLines = 128;
    const RowLayout& rows = f_.geometry.rows;
    const int height = f_.plot.height();
    std::vector<Lines> out;
    int done = 0;
    const auto addUntil = [&](int end) {
        for (; done < end; done = out.back().end)
            out.push_back({done, std::min(end, done + kLines)});
    };
    for (int row = rows.rowAt(f_.geometry.scroll_y); row >= 0 && row < rows.rowCount(); ++row) {
        const int top = rows.rowTop(row) - f_.geometry.scroll_y;
        if (top >= height) break;
        if (rows.isHeader(row) && rows.rawCount(row) == 0) continue;
        addUntil(top);
        out.push_back({done, std::min(height, top + rows.heightOf(row)), row});
        done = out.back().end;
    }
    addUntil(height);
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
    // Compact rows share one background, and separators would cover them.
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

/// True if adjacent rows may share a line of device pixels, because low rows have no gap.
bool RowPainter::rowsTouch() const {
    const double ratio = f_.geometry.device_pixel_ratio;
    return f_.geometry.rows.compact() && std::floor(ratio) != ratio;
}

void RowPainter::paintPixels(PixelCanvas& pixels, const std::function<void()>& beside) {
    const Sources from{FullRows(f_.geometry), StackRows::compact(f_.geometry),
                       RoleFills(f_.theme, f_.session.run.schedule.vpp, f_.geometry.device_pixel_ratio)};
    RawRows raw(f_.geometry);
    RawPainter lanes(p_, f_);
    const std::vector<Lines> parts = divided();
    std::vector<std::vector<TimelineShape>> large(parts.size());
    const auto ground = [&](const Lines& lines) {
        layGround(lines, [&](const QRectF& rect, const QColor& colour) { pixels.fill(rect, colour.rgb()); });
    };
    const auto ops = [&](std::size_t i) {
        if (!opsInSight(f_.geometry, parts[i].row)) return;
        if (f_.geometry.rows.compact())
            from.compact.write(parts[i].row, from.fills, pixels);
        else
            writeFullRow(parts[i].row, from, pixels, large[i]);
    };
    if (rowsTouch()) { // first every other row, then the rows between
        parallelForBeside(
            parts.size(), [&](std::size_t i) { ground(parts[i]); }, beside);
        for (const int odd : {0, 1}) {
            parallelFor(parts.size(), [&](std::size_t i) {
                if (parts[i].row < 0 || parts[i].row % 2 != odd) return;
                ops(i);
                raw.read(parts[i].row, [&](const LaneShapes& lane) { lanes.write(lane, pixels); });
            });
        }
    } else {
        // In this order, each line of pixels stays in the CPU cache from its background to the last shape.
        const auto write = [&](std::size_t i) {
            const auto [begin, end, row] = parts[i];
            if (row < 0) return ground(parts[i]);
            const int below_ops = f_.geometry.rows.rawTop(row, 0) - f_.geometry.scroll_y;
            const int middle = std::clamp(below_ops, begin, end);
            ground({begin, middle});
            ops(i);
            bool laid = false;
            const auto layRest = [&, middle = middle, end = end] {
                if (!std::exchange(laid, true)) ground({middle, end});
            };
            raw.read(row, [&](const LaneShapes& lane) {
                layRest();
                lanes.write(lane, pixels);
            });
            layRest();
        };
        parallelForBeside(parts.size(), write, beside);
    }
    std::vector<TimelineShape> labelled;
    for (std::vector<TimelineShape>& of_part : large) {
        for (TimelineShape& shape : of_part) {
            shape.label = shapeLabel(f_.geometry, shape);
            labelled.push_back(std::move(shape)); // shapes without a label may cover a label
        }
    }
    p_.save();
    p_.setClipRect(f_.plot);
    p_.translate(f_.plot.topLeft());
    paintLabels(labelled);
    p_.restore();
    lanes.paintSlices(raw.slices());
}

/// `large` receives the shapes that may have labels, which need font metrics.
void RowPainter::writeFullRow(int row, const Sources& from, PixelCanvas& pixels,
                              std::vector<TimelineShape>& large) const {
    static thread_local RowShapes shapes; // some hundred kilobytes, reused for every row of a frame
    static thread_local ColumnBand columns;
    from.full.build(row, shapes);
    const LaneBand& band = f_.geometry.rows.bands().front();
    const int band_top = f_.geometry.rows.rowTop(row) + band.top - f_.geometry.scroll_y;
    const int top = pixels.device(band_top);
    const int bottom = pixels.device(band_top + band.height);
    columns.begin(pixels, bottom, pixels.width());
    for (TimelineShape& shape : shapes.ops) {
        const PixelBox box = pixels.boxOf(bodyOf(shape));
        if (box.top == top && box.bottom == bottom) {
            from.fills.whole(columns, pixels, box, shape.role, shape.chunk);
        } else { // half of a pair
            columns.settle(box.left, box.right);
            from.fills.fill(pixels, box, shape.role, shape.chunk);
        }
        if (mayBearLabel(shape)) large.push_back(std::move(shape));
    }
    const double gap = kGapFrom * f_.geometry.device_pixel_ratio;
    const auto height = static_cast<int>(std::lround(band.height * f_.geometry.device_pixel_ratio));
    for (StackPiece& piece : shapes.stacks) {
        if (piece.end - piece.begin >= gap) --piece.end;
        from.fills.blend(columns, pixels, piece, bottom, height);
    }
    columns.flush();
    for (TimelineShape& shape : shapes.lanes) {
        const PixelBox box = pixels.boxOf(bodyOf(shape));
        if (shape.bad)
            pixels.fillDevice(box, f_.theme.bad.rgb());
        else
            from.fills.fill(pixels, box, shape.role, shape.chunk);
        if (mayBearLabel(shape)) large.push_back(std::move(shape));
    }
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

void RowPainter::fillShape(const TimelineShape& shape) {
    if (shape.role == Role::Bubble)
        fillHatched(p_, bodyOf(shape), f_.theme, f_.geometry.device_pixel_ratio);
    else
        p_.fillRect(bodyOf(shape), colourOf(shape));
}

/// Draws columns of narrow ops and bubbles, mixed into one colour.
void RowPainter::fillStack(const StackPiece& piece, const RoleFills& fills) {
    const double ratio = f_.geometry.device_pixel_ratio;
    const LaneBand& band = f_.geometry.rows.bands().front();
    const auto height = static_cast<int>(std::lround(band.height * ratio));
    // Placed on a device pixel, as in an image.
    const double bottom =
        std::round((f_.geometry.rows.rowTop(piece.row) + band.top - f_.geometry.scroll_y + band.height) * ratio) /
        ratio;
    const double left = piece.begin / ratio;
    TimelineShape shape;
    shape.rect = {left, bottom - height / ratio, std::min(f_.geometry.scale.width, piece.end / ratio) - left,
                  height / ratio};
    shape.chunk = piece.chunk;
    if (const std::optional<Role> role = piece.only(height)) {
        shape.role = *role;
        fillShape(shape);
    } else if (piece.busy() + piece.idle() > 0) {
        p_.fillRect(bodyOf(shape), QColor(fills.mixed(piece, height)));
    }
}

void RowPainter::paintLabel(const TimelineShape& shape) {
    LabelCache* laid = isTransfer(shape.role) ? f_.smaller : f_.labels;
    const bool line = !shape.label.contains(QLatin1Char('\n'));
    const QRectF body = bodyOf(shape);
    if (shape.role == Role::Bubble) {
        // A plain background behind the text, because text on hatching is hard to read.
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
