#include "app/gui/timeline/compact_row.h"

#include "app/gui/models/rows.h"
#include "core/parallel/parallel.h"

#include <QFontMetrics>
#include <QImage>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace bubblescope::gui {

namespace {

constexpr int kHairlineFrom = 5; ///< columns; ops at least this wide leave one column free before the next

/// The times at the borders between the columns of the image.
std::vector<TimeNs> columnBorders(const TimeScale& scale, double ratio) {
    const auto columns = std::max<std::int64_t>(1, std::llround(scale.width * ratio));
    std::vector<TimeNs> borders;
    borders.reserve(static_cast<std::size_t>(columns) + 1);
    const auto length = static_cast<double>(scale.range.length().count());
    for (std::int64_t i = 0; i <= columns; ++i)
        borders.push_back(scale.range.begin +
                          TimeNs{std::llround(length * static_cast<double>(i) / static_cast<double>(columns))});
    return borders;
}

/// Walks through a lane's time from left to right.
class CompactCursor {
public:
    CompactCursor(const Lane& lane, TimeNs begin)
        : lane_(lane), next_(lane.firstStartingFrom(begin)), covered_(lane.coveredBefore(begin, next_)) {}

    /// Moves on to `to`. Returns how long the lane is busy until then.
    TimeNs advance(TimeNs to) {
        before_ = next_;
        next_ = lane_.firstStartingFrom(to, next_);
        const TimeNs covered = lane_.coveredBefore(to, next_);
        const TimeNs busy = covered - covered_;
        covered_ = covered;
        return busy;
    }
    /// The first span that the last advance() touched.
    [[nodiscard]] std::size_t firstMet(TimeNs begin) const {
        std::size_t first = before_;
        while (first > 0 && lane_.spans()[first - 1].end > begin)
            --first;
        return first;
    }
    /// The first span that has not begun yet.
    [[nodiscard]] std::size_t next() const { return next_; }
    [[nodiscard]] TimeNs nextStart() const {
        return next_ < lane_.spans().size() ? lane_.spans()[next_].start : TimeNs::max();
    }

private:
    const Lane& lane_;
    std::size_t next_;
    std::size_t before_ = 0;
    TimeNs covered_;
};

class CompactRowBuilder {
public:
    CompactRowBuilder(const GeometryInput& input, const std::vector<TimeNs>& borders, int row,
                      std::vector<CompactPiece>& out)
        : ops_(input.session.lanes.lane(static_cast<std::size_t>(input.rows.lineAt(row)), LaneKind::Compute)),
          idle_(input.session.lanes.lane(static_cast<std::size_t>(input.rows.lineAt(row)), LaneKind::Bubble)),
          borders_(borders), row_(row), out_(out), first_piece_(out.size()),
          height_(static_cast<int>(std::lround(input.rows.bands().front().height * input.device_pixel_ratio))) {}

    void build() {
        CompactCursor ops(ops_, borders_.front());
        CompactCursor idle(idle_, borders_.front());
        const auto columns = static_cast<int>(borders_.size()) - 1;
        for (int column = 0; column < columns;) {
            const TimeRange time{border(column), border(column + 1)};
            if (time.length() <= TimeNs{0}) { // columns finer than the clock
                if (out_.size() > first_piece_) ++out_.back().end;
                ++column;
                continue;
            }
            const TimeNs busy = ops.advance(time.end);
            const TimeNs bubble = idle.advance(time.end);
            int end = column + 1;
            if (busy == time.length()) {
                end = addBusy(ops, column, time);
            } else {
                add(piece(column, time, busy, bubble, ops));
                // The columns stay the same until something begins or ends.
                if (busy == TimeNs{0} && bubble == time.length())
                    end = sameUntil(end, std::min(ops.nextStart(), endOf(idle_, idle, time.begin)));
                else if (busy == TimeNs{0} && bubble == TimeNs{0})
                    end = sameUntil(end, std::min(ops.nextStart(), idle.nextStart()));
                if (end > column + 1) out_.back().end = end;
            }
            if (end > column + 1) {
                ops.advance(border(end));
                idle.advance(border(end));
            }
            column = end;
        }
    }

private:
    [[nodiscard]] TimeNs border(int column) const { return borders_[static_cast<std::size_t>(column)]; }

    /// The column in which `time` lies or ends; at least `from`.
    [[nodiscard]] int sameUntil(int from, TimeNs time) const {
        const auto found = std::upper_bound(borders_.begin() + from, borders_.end(), time);
        return std::max(from, static_cast<int>(found - borders_.begin()) - 1);
    }
    [[nodiscard]] static TimeNs endOf(const Lane& lane, const CompactCursor& cursor, TimeNs begin) {
        const std::size_t first = cursor.firstMet(begin);
        return first < lane.spans().size() ? lane.spans()[first].end : begin;
    }

    /// Adds a column that is busy throughout, extended to the end of its first op if it holds only that one.
    int addBusy(const CompactCursor& ops, int column, const TimeRange& time) {
        const std::size_t first = ops.firstMet(time.begin);
        const auto [role, chunk] = ops_.mainColour(first, ops.next(), time);
        const bool one = first + 1 == ops.next();
        const int end = one ? sameUntil(column + 1, ops_.spans()[first].end) : column + 1;
        add({row_, column, end, height_, 0, role, chunk});
        // A gap keeps neighbouring ops of one colour apart. A last column that is shared is not full anyway.
        if (one && end - column >= kHairlineFrom && end + 1 < static_cast<int>(borders_.size()) &&
            ops_.spans()[first].end < border(end + 1))
            shorten();
        return end;
    }

    void shorten() {
        CompactPiece& last = out_.back();
        --last.end;
        out_.push_back({row_, last.end, last.end + 1, 0, 0, Role::Bubble, 0});
    }

    [[nodiscard]] CompactPiece piece(int column, const TimeRange& time, TimeNs busy, TimeNs bubble,
                                     const CompactCursor& ops) const {
        CompactPiece out{row_, column, column + 1, 0, 0, Role::Bubble, 0};
        const auto pixels = [&](TimeNs part) {
            const double fraction = static_cast<double>(part.count()) / static_cast<double>(time.length().count());
            return std::clamp(static_cast<int>(std::lround(fraction * height_)), part > TimeNs{0} ? 1 : 0, height_);
        };
        out.busy = pixels(busy);
        out.idle = pixels(bubble);
        if (out.busy + out.idle > height_) {
            // Both were rounded up; the smaller one keeps its pixels.
            if (busy > bubble) out.busy = std::max(1, height_ - out.idle);
            out.idle = height_ - out.busy;
        }
        if (busy > TimeNs{0}) {
            const auto [role, chunk] = ops_.mainColour(ops.firstMet(time.begin), ops.next(), time);
            out.role = role;
            out.chunk = chunk;
        }
        return out;
    }

    void add(const CompactPiece& piece) {
        if (out_.size() > first_piece_) {
            CompactPiece& last = out_.back();
            CompactPiece same = piece;
            same.begin = last.begin;
            same.end = last.end;
            // Full columns are ops and stay separate.
            if (last.end == piece.begin && same == last && piece.busy < height_) {
                last.end = piece.end;
                return;
            }
        }
        out_.push_back(piece);
    }

    const Lane& ops_;
    const Lane& idle_;
    const std::vector<TimeNs>& borders_;
    int row_;
    std::vector<CompactPiece>& out_;
    std::size_t first_piece_;
    int height_;
};

} // namespace

std::vector<CompactPiece> buildCompactRows(const GeometryInput& input) {
    std::vector<CompactPiece> pieces;
    if (!input.rows.compact()) return pieces;
    const std::vector<TimeNs> borders = columnBorders(input.scale, input.device_pixel_ratio);
    std::vector<int> rows;
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        const int top = input.rows.rowTop(row) - input.scroll_y;
        if (!input.rows.isHeader(row) && top < input.height && top + input.rows.rowHeight() > 0) rows.push_back(row);
    }
    std::vector<std::vector<CompactPiece>> of_rows(rows.size());
    parallelFor(rows.size(), [&](std::size_t i) { CompactRowBuilder(input, borders, rows[i], of_rows[i]).build(); });
    std::size_t count = 0;
    for (const std::vector<CompactPiece>& of_row : of_rows)
        count += of_row.size();
    pieces.reserve(count);
    for (const std::vector<CompactPiece>& of_row : of_rows)
        pieces.insert(pieces.end(), of_row.begin(), of_row.end());
    return pieces;
}

namespace {

constexpr int kCompactNameLeft = 16;
constexpr int kBusyBarWidth = 56; ///< width of the bars that show the ranks' bubbles

} // namespace

int nameEvery(int row_height, int name_height) {
    int every = 1;
    while (every * row_height < name_height)
        every *= 2;
    return every;
}

CompactRowPainter::CompactRowPainter(QPainter& painter, const TimelineFrame& frame)
    : p_(painter), f_(frame), small_(frame.font) {
    small_.setPointSizeF(std::max(6.5, frame.font.pointSizeF() * 0.85));
}

/// There may be one segment per pixel, so they are written as pixels in one go.
void CompactRowPainter::paint(const std::vector<CompactPiece>& pieces) {
    if (f_.pixels != nullptr) return paint(pieces, *f_.pixels);
    const double ratio = f_.geometry.device_pixel_ratio;
    QImage image((QSizeF(f_.plot.size()) * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    PixelCanvas pixels(image, QRect(QPoint(), f_.plot.size()), ratio);
    paint(pieces, pixels);
    image.setDevicePixelRatio(ratio);
    p_.drawImage(f_.plot.topLeft(), image);
}

/// Draws rows in parallel: first every other row, then those between. Neighbouring rows may share a line of device
/// pixels.
void CompactRowPainter::paint(const std::vector<CompactPiece>& pieces, PixelCanvas& pixels) {
    std::array<std::vector<std::span<const CompactPiece>>, 2> every_other;
    for (auto first = pieces.begin(); first != pieces.end();) {
        const auto end =
            std::find_if(first, pieces.end(), [&](const CompactPiece& piece) { return piece.row != first->row; });
        every_other[static_cast<std::size_t>(first->row) % 2].emplace_back(first, end);
        first = end;
    }
    for (const auto& rows : every_other) {
        parallelFor(rows.size(), [&](std::size_t i) { paintRow(rows[i], pixels); });
    }
}

void CompactRowPainter::paintRow(std::span<const CompactPiece> pieces, PixelCanvas& pixels) const {
    const RowLayout& rows = f_.geometry.rows;
    const int chunks = f_.session.run.schedule.vpp;
    const QRgb bubble = f_.theme.fill(Role::Bubble).rgb();
    const double end = rows.rowTop(pieces.front().row) + rows.bands().front().height - f_.geometry.scroll_y;
    const int bottom = pixels.device(end);
    for (const CompactPiece& piece : pieces) {
        const int width = piece.end - piece.begin;
        if (piece.busy > 0)
            pixels.fillDevice({piece.begin, bottom - piece.busy, width, piece.busy},
                              f_.theme.fill(piece.role, piece.chunk, chunks).rgb());
        if (piece.idle > 0)
            pixels.fillDevice({piece.begin, bottom - piece.busy - piece.idle, width, piece.idle}, bubble);
    }
}

void CompactRowPainter::paintNames(const QRect& column) {
    const RowLayout& rows = f_.geometry.rows;
    p_.save();
    p_.setFont(small_);
    const int line = QFontMetrics(small_).height();
    const int every = nameEvery(rows.rowHeight(), line);
    for (int row = 0; row < rows.rowCount(); ++row) {
        if (rows.isHeader(row)) continue;
        const QRect area(0, column.top() + rows.rowTop(row) - f_.geometry.scroll_y, column.width() - 1,
                         rows.bands().front().height);
        // A name may be higher than its row.
        if (area.top() > column.bottom() || area.top() + line < column.top()) continue;
        paintBusyBar(row, area);
        if (row % every != 0) continue;
        p_.setPen(f_.theme.text);
        // The ruler would cover the top of the first name.
        const int top = row == 0 ? std::max(area.top(), area.center().y() - line / 2) : area.center().y() - line / 2;
        p_.drawText(QRect(kCompactNameLeft, top, area.width() - kCompactNameLeft, line),
                    Qt::AlignLeft | Qt::AlignVCenter, lineName(f_.session, rows.lineAt(row)));
    }
    p_.restore();
}

/// Draws the rank's bubble time as a bar from the right. Together the bars show the profile of the step.
void CompactRowPainter::paintBusyBar(int row, const QRect& area) {
    const int line = f_.geometry.rows.lineAt(row);
    const auto rank = static_cast<std::size_t>(f_.session.lanes.rankOf(line));
    const StepAnalysis& analysis = f_.session.analysis(f_.session.stepOn(line, f_.step));
    if (rank >= analysis.ranks.size() || analysis.wall <= TimeNs{0}) return;
    const double fraction =
        static_cast<double>(analysis.ranks[rank].bubble.count()) / static_cast<double>(analysis.wall.count());
    const int width = static_cast<int>(std::lround(kBusyBarWidth * std::clamp(fraction, 0.0, 1.0)));
    const QRect frame(area.right() - kBusyBarWidth - 8, area.top(), kBusyBarWidth, area.height());
    p_.fillRect(frame, f_.theme.fill(Role::Forward));
    p_.fillRect(QRect(frame.right() + 1 - width, frame.top(), width, frame.height()), f_.theme.fill(Role::Bubble));
}

} // namespace bubblescope::gui
