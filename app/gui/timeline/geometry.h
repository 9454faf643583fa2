#pragma once

#include "app/gui/models/lanes.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/rows.h"
#include "app/gui/models/session.h"
#include "app/gui/theme/theme.h"
#include "app/gui/timeline/time_axis.h"

#include <QRectF>
#include <QSizeF>
#include <QString>

#include <array>
#include <functional>
#include <optional>
#include <vector>

namespace bubblescope::gui {

class ColumnCache;

/// A lane's band in its row, in logical pixels from the row's top.
struct LaneBand {
    LaneKind kind = LaneKind::Compute; ///< Compute stands for Bubble as well
    int top = 0;
    int height = 0;
};

/// What rows have besides the lanes of their ops, and which rows there are.
struct RowExtras {
    /// Raw lanes that a line is unfolded to: some that follow one another.
    struct RawPart {
        int count = 0;
        int first = 0;
    };
    bool reference = false;                        ///< a band for another timeline, below that of the ops
    std::vector<RawPart> raw_lanes{};              ///< per line; those missing are folded
    std::vector<int> counters{};                   ///< per line, how many counters are drawn; not in compact rows
    int height = 0;                                ///< wanted for the ops, 0 = whatever fits the view best
    bool transfers = true;                         ///< whether there are bands for them
    std::optional<std::vector<PlannedRow>> rows{}; ///< without them, all lines in their order
};

/// Where rows and lanes lie, in logical pixels from the top of the first row. Rows grow to fill the view
/// up to a comfortable height and shrink to a readable one; beyond that the view scrolls. Where that would be many
/// views long, rows are compact instead: as thin as fits, with nothing but a band for the ops and bubbles.
///
/// Pinned rows come first and are to stay in sight: whoever draws or looks for something in the uppermost
/// stickyHeight() pixels of the view does so as if it were not scrolled.
class RowLayout {
public:
    static constexpr int kRawHeight = 14;
    static constexpr int kRawPitch = 16; ///< a raw lane with the gap to the next
    static constexpr int kCounterHeight = 24;
    static constexpr int kCounterPitch = 28;
    static constexpr int kThinnest = 3; ///< of a compact row
    static constexpr int kGroupHeight = 22;
    static constexpr int kReadable = 24; ///< the ops' band of a row; lower ones are compact
    static constexpr int kHighest = 220;

    RowLayout() = default;
    RowLayout(const Lanes& lanes, int view_height, RowExtras extras = {});

    [[nodiscard]] int rowCount() const { return static_cast<int>(plan_.size()); }
    [[nodiscard]] const PlannedRow& row(int row) const { return plan_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<PlannedRow>& plan() const { return plan_; }
    [[nodiscard]] bool isHeader(int row) const { return plan_[static_cast<std::size_t>(row)].header(); }
    /// −1 for a header.
    [[nodiscard]] int lineAt(int row) const { return plan_[static_cast<std::size_t>(row)].line; }
    /// Where a line is shown; −1 where it is not.
    [[nodiscard]] int rowOf(int line) const;
    /// Of the pinned rows; 0 where they are too many to stay in sight.
    [[nodiscard]] int stickyHeight() const { return sticky_; }
    /// By how much a place in the view is scrolled: pinned rows are not.
    [[nodiscard]] int scrollAt(int view_y, int scroll) const { return view_y < sticky_ ? 0 : scroll; }
    [[nodiscard]] int scrollOf(int row, int scroll) const { return rowTop(row) < sticky_ ? 0 : scroll; }
    /// Whether rows are compact: without labels, their height tells how busy a rank is.
    [[nodiscard]] bool compact() const { return compact_; }
    /// Of a folded row with a line.
    [[nodiscard]] int rowHeight() const { return row_height_; }
    /// What RowExtras::height makes the ops the next size higher (1) or lower (−1) than they are now.
    [[nodiscard]] int otherHeight(int direction) const;
    [[nodiscard]] int heightOf(int row) const { return rowTop(row + 1) - rowTop(row); }
    [[nodiscard]] int contentHeight() const { return rowTop(rowCount()); }
    [[nodiscard]] int rowTop(int row) const { return tops_.empty() ? 0 : tops_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<LaneBand>& bands() const { return bands_; }
    /// −1 outside.
    [[nodiscard]] int rowAt(int y) const;
    [[nodiscard]] std::optional<LaneBand> bandAt(int y) const;

    /// The band of the other timeline; without one, or in compact rows, its height is 0.
    [[nodiscard]] const LaneBand& reference() const { return reference_; }

    [[nodiscard]] int rawCount(int row) const { return rawPart(row).count; }
    /// Which of its line's raw lanes a row shows as its `lane`th.
    [[nodiscard]] int rawLane(int row, int lane) const { return rawPart(row).first + lane; }
    [[nodiscard]] int rawTop(int row, int lane) const { return rowTop(row) + row_height_ + lane * kRawPitch; }
    struct RawPlace {
        int row = 0;
        int lane = 0;
    };
    [[nodiscard]] std::optional<RawPlace> rawAt(int y) const;

    [[nodiscard]] int counterCount(int row) const;
    [[nodiscard]] int counterTop(int row, int lane) const;

private:
    [[nodiscard]] RowExtras::RawPart rawPart(int row) const;
    [[nodiscard]] int rawHeight(int row) const;
    void layCompactRows(int height);
    void layBands(const Lanes& lanes, int compute);

    std::vector<PlannedRow> plan_;
    std::vector<int> row_of_line_;
    int sticky_ = 0;
    int row_height_ = 1;
    bool compact_ = false;
    std::vector<LaneBand> bands_;
    LaneBand reference_;
    RowExtras extras_;
    std::vector<int> tops_; ///< of each row, and the end of the last
};

/// One rectangle to draw, in logical pixels of the plot (x from the plot's left edge, y from the top of the
/// visible part); its edges lie on device pixels.
struct TimelineShape {
    QRectF rect;
    Role role = Role::Forward;
    int chunk = 0;
    bool bad = false; ///< a check that found a difference
    ItemRef item;     ///< none where several spans narrower than a pixel were merged
    QString label;    ///< fits the rectangle; empty where nothing does
};

/// Between a label and the edges of its rectangle, left and right together.
inline constexpr double kLabelPadding = 4;

/// Size of a text, which may have two lines, in logical pixels as it will be drawn.
using TextSize = std::function<QSizeF(const QString&)>;

struct GeometryInput {
    const Session& session;
    TimeScale scale;
    const RowLayout& rows;
    int scroll_y = 0;
    int height = 0; ///< of the visible part
    double device_pixel_ratio = 1;
    TextSize text_size;
    bool replay = true;             ///< whether checks are shown
    ColumnCache* columns = nullptr; ///< what the view looked at last, if that is kept

    /// The same of what lies in another part of the view: the pinned one is not scrolled.
    [[nodiscard]] GeometryInput scrolledTo(int y) const {
        GeometryInput out = *this;
        out.scroll_y = y;
        return out;
    }
};

/// What is visible, bubbles first, so that ops are drawn over them. Time grows with the pixels and the
/// logarithm of the spans, not with the spans: those narrower than a device pixel are merged. Empty where rows are
/// compact rows, see buildCompactRows().
[[nodiscard]] std::vector<TimelineShape> buildShapes(const GeometryInput& input);

/// The rectangle of one item, also when merged; clipped to the plot, at least one device pixel wide. Empty
/// when out of sight.
[[nodiscard]] QRectF itemRect(const GeometryInput& input, const ItemRef& item);

/// What lies at a point of the plot; spans within `slack` pixels are caught too, so that thin ones can be hit.
[[nodiscard]] ItemRef hitTest(const Session& session, const TimeScale& scale, const RowLayout& rows, int scroll_y,
                              double x, double y, double slack = 2, bool replay = true);

/// The reference's ops in their rows' reference bands. Ops within one device pixel are drawn once, so that time grows
/// with the pixels and with the ops in sight of one step.
[[nodiscard]] std::vector<TimelineShape> buildReferenceShapes(const GeometryInput& input,
                                                              const ReferenceOverlay& reference);

} // namespace bubblescope::gui
