#pragma once

#include "app/gui/timeline/column_shares.h"
#include "app/gui/timeline/geometry.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QImage>
#include <QRgb>

#include <array>
#include <span>
#include <vector>

namespace bubblescope::gui {

/// Neighbouring columns of device pixels of a compact row that look the same: stacks of what the rank does in them, see
/// kStackOrder. The rest of the height is outside of steps.
struct CompactPiece {
    int row = 0;
    int begin = 0; ///< columns, from the plot's left edge
    int end = 0;
    StackHeights heights{}; ///< device pixels
    int chunk = -1;         ///< of a single op; −1 where there may be several

    [[nodiscard]] int height(Role role) const { return heights[static_cast<std::size_t>(role)]; }
    /// Of all ops; of everything else.
    [[nodiscard]] int busy() const;
    [[nodiscard]] int idle() const;

    friend bool operator==(const CompactPiece&, const CompactPiece&) = default;
};

/// Rows that are drawn as stacks, each computed when it is drawn: a screen of them has a hundred thousand pieces.
/// Refers to its input.
class StackRows {
public:
    /// The visible compact rows: each column is filled in proportion to what the rank does in its time, the same at
    /// every zoom. None unless rows are compact.
    [[nodiscard]] static StackRows compact(const GeometryInput& input);
    /// The headers of folded groups: means over the group's lines. Wide views of large groups are computed for several
    /// pixels at a time.
    [[nodiscard]] static StackRows strips(const GeometryInput& input);

    /// Top to bottom.
    [[nodiscard]] const std::vector<int>& rows() const { return rows_; }
    /// Replaces `pieces` by those of a row, from left to right. Time grows with the pixels and the logarithm of the
    /// spans. Any thread.
    void build(int row, std::vector<CompactPiece>& pieces) const;
    /// Those of all rows.
    [[nodiscard]] std::vector<CompactPiece> pieces() const;

private:
    StackRows(const GeometryInput& input, std::vector<int> rows);

    const GeometryInput& input_;
    std::vector<TimeNs> borders_; ///< between the columns
    std::vector<int> rows_;
};
/// The strip of a folded header, in logical pixels from the header's top.
inline constexpr int kStripTop = 3;
inline constexpr int kStripHeight = RowLayout::kGroupHeight - 7;

/// Draws the ops and bubbles of compact rows, and as many of their names as fit.
class CompactRowPainter {
public:
    CompactRowPainter(QPainter& painter, const TimelineFrame& frame);

    void paint();
    void paintStrips();
    /// Draws the names into `column` of the header.
    void paintNames(const QRect& column);

private:
    /// Where the stacks of a row begin and how high they may be, from its top.
    struct Band {
        int top = 0;
        int height = 0;
    };
    void paint(const StackRows& stacks, Band band);
    void paint(const StackRows& stacks, Band band, PixelCanvas& pixels) const;
    void paintRow(std::span<const CompactPiece> pieces, Band band, PixelCanvas& pixels) const;
    [[nodiscard]] QRgb colourOf(Role role, int chunk) const;
    void paintBusyBar(int row, const QRect& area);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
    QImage hatch_;
    std::array<std::vector<QRgb>, kRoleCount> colours_; ///< by role and chunk + 1
};

/// Every how many rows of this height a name of this height fits: 1, 2, 4, 8 and so on.
[[nodiscard]] int nameEvery(int row_height, int name_height);

} // namespace bubblescope::gui
