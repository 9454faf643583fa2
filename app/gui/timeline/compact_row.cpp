#include "app/gui/timeline/compact_row.h"

#include "app/gui/models/rows.h"
#include "app/gui/timeline/role_fills.h"
#include "core/base/parallel.h"

#include <QFontMetrics>
#include <QImage>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bubblescope::gui {

namespace {

constexpr int kHairlineFrom = 5; ///< columns; ops at least this wide leave one column free before the next op

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

class CompactRowBuilder {
public:
    /// `out` must be empty.
    CompactRowBuilder(const GeometryInput& input, const std::vector<TimeNs>& borders, int row,
                      std::vector<StackPiece>& out)
        : lanes_(input.session.lanes), line_(static_cast<std::size_t>(input.rows.lineAt(row))), borders_(borders),
          row_(row), out_(out),
          height_(static_cast<int>(std::lround(input.rows.bands().front().height * input.device_pixel_ratio))) {}

    void build() {
        LineCursor line(lanes_, line_, borders_.front());
        const std::vector<Span>& spans = line.ops().lane().spans();
        const auto columns = static_cast<int>(borders_.size()) - 1;
        for (int column = 0; column < columns;) {
            const TimeRange time{border(column), border(column + 1)};
            if (time.length() <= TimeNs{0}) { // columns are finer than the clock
                if (!out_.empty()) ++out_.back().end;
                ++column;
                continue;
            }
            line.advance(time.end);
            int end = column + 1;
            const std::size_t met = line.busy == time.length() ? line.ops().firstMet(time.begin) : 0;
            if (line.busy == time.length() && met + 1 == line.ops().next()) {
                end = addOp(spans[met], column);
            } else {
                add({row_, column, end, stackHeights(line.shares(), time.length(), height_), -1});
                // The columns do not change until something begins or ends.
                const bool nothing_runs = line.busy == TimeNs{0};
                if (nothing_runs && line.exposed == TimeNs{0} && line.idle == time.length())
                    end = sameUntil(end, std::min(line.nextStart(), endOf(line.bubbles(), time.begin)));
                else if (nothing_runs && line.idle == TimeNs{0} && line.waiting == TimeNs{0})
                    end = sameUntil(end, std::min(line.nextStart(), line.bubbles().nextStart()));
                if (end > column + 1) out_.back().end = end;
            }
            if (end > column + 1) line.advance(border(end));
            column = end;
        }
    }

private:
    [[nodiscard]] TimeNs border(int column) const { return borders_[static_cast<std::size_t>(column)]; }

    /// Column that contains or ends at `time`; at least `from`.
    [[nodiscard]] int sameUntil(int from, TimeNs time) const {
        const auto found = std::upper_bound(borders_.begin() + from, borders_.end(), time);
        return std::max(from, static_cast<int>(found - borders_.begin()) - 1);
    }
    [[nodiscard]] static TimeNs endOf(const LaneCursor& cursor, TimeNs begin) {
        const std::size_t first = cursor.firstMet(begin);
        return first < cursor.lane().spans().size() ? cursor.lane().spans()[first].end : begin;
    }

    /// Adds the columns that a single op fills, starting at `column`.
    int addOp(const Span& op, int column) {
        const int end = sameUntil(column + 1, op.end);
        StackPiece piece{row_, column, end, {}, op.chunk};
        piece.heights[static_cast<std::size_t>(op.role)] = static_cast<std::uint16_t>(height_);
        add(piece);
        // A gap separates adjacent ops of one colour, unless they share the last column, which is not full.
        if (end - column >= kHairlineFrom && end + 1 < static_cast<int>(borders_.size()) && op.end < border(end + 1)) {
            StackPiece& last = out_.back();
            --last.end;
            out_.push_back({row_, last.end, last.end + 1, {}, -1});
        }
        return end;
    }

    void add(const StackPiece& piece) {
        if (!out_.empty()) {
            StackPiece& last = out_.back();
            // Single ops stay separate.
            if (piece.chunk < 0 && last.chunk < 0 && last.end == piece.begin && last.heights == piece.heights) {
                last.end = piece.end;
                return;
            }
        }
        out_.push_back(piece);
    }

    const Lanes& lanes_;
    std::size_t line_;
    const std::vector<TimeNs>& borders_;
    int row_;
    std::vector<StackPiece>& out_;
    int height_;
};

/// Builds the strip of a folded group; `out` must be empty.
void buildStrip(const GeometryInput& input, const std::vector<TimeNs>& borders, int row, std::vector<StackPiece>& out) {
    constexpr std::size_t kMostParts = 60'000; // limit for lines times columns; more would take longer than a frame
    const std::vector<int>& lines = input.rows.row(row).members;
    if (lines.empty()) return;
    const std::size_t columns = borders.size() - 1;
    const std::size_t stride = std::max<std::size_t>(1, lines.size() * columns / kMostParts);
    const int height = static_cast<int>(std::lround(kStripHeight * input.device_pixel_ratio));
    std::vector<LineCursor> cursors;
    cursors.reserve(lines.size());
    for (const int line : lines)
        cursors.emplace_back(input.session.lanes, static_cast<std::size_t>(line), borders.front());
    for (std::size_t column = 0; column < columns; column += stride) {
        const std::size_t end = std::min(columns, column + stride);
        const TimeRange time{borders[column], borders[end]};
        RoleTimes sum{};
        for (LineCursor& line : cursors) {
            line.advance(time.end);
            const RoleTimes shares = line.shares();
            for (std::size_t role = 0; role < kRoleCount; ++role)
                sum[role] += shares[role];
        }
        const StackHeights heights = stackHeights(sum, time.length() * static_cast<std::int64_t>(lines.size()), height);
        if (!out.empty() && out.back().heights == heights) {
            out.back().end = static_cast<int>(end);
        } else {
            out.push_back({row, static_cast<int>(column), static_cast<int>(end), heights, -1});
        }
    }
}

} // namespace

StackRows::StackRows(const GeometryInput& input, std::vector<int> rows, Band band)
    : input_(input), band_(band), rows_(std::move(rows)) {
    if (!rows_.empty()) borders_ = columnBorders(input.scale, input.device_pixel_ratio);
}

StackRows StackRows::compact(const GeometryInput& input) {
    if (!input.rows.compact()) return StackRows(input, {}, {});
    const LaneBand& band = input.rows.bands().front();
    return StackRows(input, visibleRows(input), {band.top, band.height});
}

StackRows StackRows::strips(const GeometryInput& input) {
    std::vector<int> rows;
    for (int row = 0; row < input.rows.rowCount(); ++row) {
        const int top = input.rows.rowTop(row) - input.scroll_y;
        if (input.rows.isHeader(row) && input.rows.row(row).folded && top < input.height &&
            top + RowLayout::kGroupHeight > 0)
            rows.push_back(row);
    }
    return StackRows(input, std::move(rows), {kStripTop, kStripHeight});
}

void StackRows::build(int row, std::vector<StackPiece>& pieces) const {
    pieces.clear();
    if (input_.rows.isHeader(row)) {
        buildStrip(input_, borders_, row, pieces);
    } else {
        CompactRowBuilder(input_, borders_, row, pieces).build();
    }
}

std::vector<StackPiece> StackRows::pieces() const {
    std::vector<StackPiece> all;
    std::vector<StackPiece> of_row;
    for (const int row : rows_) {
        build(row, of_row);
        all.insert(all.end(), of_row.begin(), of_row.end());
    }
    return all;
}

void StackRows::write(int row, const RoleFills& fills, PixelCanvas& pixels) const {
    static thread_local std::vector<StackPiece> pieces; // some tens of kilobytes, reused for every row of a frame
    static thread_local ColumnBand band;
    build(row, pieces);
    const int bottom = pixels.device(input_.rows.rowTop(row) + band_.top + band_.height - input_.scroll_y);
    band.begin(pixels, bottom, static_cast<int>(borders_.size()) - 1);
    const int height =
        input_.rows.isHeader(row) ? 0 : static_cast<int>(std::lround(band_.height * input_.device_pixel_ratio));
    for (const StackPiece& piece : pieces) {
        if (height > 0)
            fills.blend(band, pixels, piece, bottom, height);
        else // a group: numbers of its ranks with each activity
            fills.stack(pixels, piece, bottom);
    }
    band.flush();
}

namespace {

constexpr int kCompactNameLeft = 16;
constexpr int kBusyBarWidth = 56; ///< width of the bars for the bubbles of ranks

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

void CompactRowPainter::paint() {
    paint(StackRows::compact(f_.geometry));
}

void CompactRowPainter::paintStrips() {
    paint(StackRows::strips(f_.geometry));
}

/// There may be one segment per pixel, so all segments are written as pixels.
void CompactRowPainter::paint(const StackRows& stacks) {
    if (stacks.rows().empty()) return;
    if (f_.pixels != nullptr) return write(stacks, *f_.pixels);
    const double ratio = f_.geometry.device_pixel_ratio;
    QImage image((QSizeF(f_.plot.size()) * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    PixelCanvas pixels(image, QRect(QPoint(), f_.plot.size()), ratio);
    write(stacks, pixels);
    image.setDevicePixelRatio(ratio);
    p_.drawImage(f_.plot.topLeft(), image);
}

/// Draws rows in parallel: first every other row, then the rows between. Neighbouring rows may share a line of device
/// pixels.
void CompactRowPainter::write(const StackRows& stacks, PixelCanvas& pixels) const {
    const RoleFills fills(f_.theme, f_.session.run.schedule.vpp, f_.geometry.device_pixel_ratio);
    std::array<std::vector<int>, 2> every_other;
    for (const int row : stacks.rows())
        every_other[static_cast<std::size_t>(row) % 2].push_back(row);
    for (const std::vector<int>& rows : every_other)
        parallelFor(rows.size(), [&](std::size_t i) { stacks.write(rows[i], fills, pixels); });
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
        // Centred over the rows up to the next name, because above the first row there is not enough space.
        const int top = area.top() + (every * rows.rowHeight() - line) / 2;
        p_.drawText(QRect(kCompactNameLeft, top, area.width() - kCompactNameLeft, line),
                    Qt::AlignLeft | Qt::AlignVCenter, lineName(f_.session, rows.lineAt(row)));
    }
    p_.restore();
}

/// Draws the bubble time of the rank as a bar from the right. The bars of all ranks show the profile of the step.
void CompactRowPainter::paintBusyBar(int row, const QRect& area) {
    const int line = f_.geometry.rows.lineAt(row);
    const auto rank = static_cast<std::size_t>(f_.session.lanes.rankOf(line));
    const StepAnalysis& analysis = f_.session.analysis(f_.session.stepOn(line, f_.step));
    if (rank >= analysis.ranks.size() || analysis.wall <= TimeNs{0}) return;
    const double fraction = fractionOf(analysis.ranks[rank].bubble, analysis.wall);
    const int width = static_cast<int>(std::lround(kBusyBarWidth * std::clamp(fraction, 0.0, 1.0)));
    const QRect frame(area.right() - kBusyBarWidth - 8, area.top(), kBusyBarWidth, area.height());
    p_.fillRect(frame, f_.theme.fill(Role::Forward));
    p_.fillRect(QRect(frame.right() + 1 - width, frame.top(), width, frame.height()), f_.theme.fill(Role::Bubble));
}

} // namespace bubblescope::gui
