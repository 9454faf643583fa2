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

/// Band of a lane within its row, in logical pixels from the top of the row.
struct LaneBand {
    LaneKind kind = LaneKind::Compute; ///< Compute includes Bubble
    int top = 0;
    int height = 0;
};

/// The selected rows, and what they contain in addition to op lanes.
struct RowExtras {
    /// A raw lane that an unfolded line shows.
    struct RawShown {
        int lane = 0; ///< index of the lane in the raw lanes of the line
        int rows = 1; ///< number of rows: one per depth of its stacks, or one for all depths
    };
    bool reference = false;                            ///< true if there is a band for the reference below the ops
    std::vector<std::vector<RawShown>> raw_lanes{};    ///< per line, its raw lanes; lines without an entry are folded
    std::vector<std::vector<RawShown>> pinned_lanes{}; ///< per line, the lanes that PlannedRow::tracks_of shows
    std::vector<int> counters{};                       ///< number of counters per line, except in compact rows
    int height = 0;                                    ///< requested height of the op band; 0 = automatic
    bool transfers = true;                             ///< true if there are bands for transfers
    std::optional<std::vector<PlannedRow>> rows{};     ///< if empty, all lines in order
};

/// Positions of rows and lanes, in logical pixels from the top of the first row. Rows grow up to a maximum height to
/// fill the view, or shrink down to a readable height. If the rows still do not fit, the view scrolls. If the rows
/// would fill many screens, they are compact instead: as thin as possible, with a single band for ops and bubbles.
///
/// Pinned rows come first and do not scroll: drawing and hit testing in the first stickyHeight() pixels of the view use
/// a scroll position of 0.
class RowLayout {
public:
    static constexpr int kRawHeight = 14;  ///< height of a row of slices
    static constexpr int kRawPitch = 16;   ///< height of a raw lane with one row, including the gap
    static constexpr int kDepthPitch = 15; ///< height of a stack row, including the separator
    static constexpr int kCounterHeight = 24;
    static constexpr int kCounterPitch = 28;
    static constexpr int kMinCompactHeight = 3; ///< minimum height of a compact row
    static constexpr int kGroupHeight = 22;
    static constexpr int kMinReadableHeight = 24; ///< minimum height of the op band; rows with less space are compact
    static constexpr int kMaxBandHeight = 400;

    RowLayout() = default;
    RowLayout(const Lanes& lanes, int view_height, RowExtras extras = {});

    [[nodiscard]] int rowCount() const { return static_cast<int>(plan_.size()); }
    [[nodiscard]] const PlannedRow& row(int row) const { return plan_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<PlannedRow>& plan() const { return plan_; }
    [[nodiscard]] bool isHeader(int row) const { return plan_[static_cast<std::size_t>(row)].header(); }
    /// Line of a row; −1 for a header.
    [[nodiscard]] int lineAt(int row) const { return plan_[static_cast<std::size_t>(row)].line; }
    /// Line whose raw lanes a row shows. Also valid for headers of pinned tracks.
    [[nodiscard]] int rawLineAt(int row) const {
        return this->row(row).tracks_of >= 0 ? this->row(row).tracks_of : lineAt(row);
    }
    /// Row of a line; −1 if the line is not shown.
    [[nodiscard]] int rowOf(int line) const;
    /// Height of the pinned rows; 0 if there are so many that they must scroll.
    [[nodiscard]] int stickyHeight() const { return sticky_; }
    /// Scroll position that applies at a vertical position in the view; 0 for pinned rows.
    [[nodiscard]] int scrollAt(int view_y, int scroll) const { return view_y < sticky_ ? 0 : scroll; }
    [[nodiscard]] int scrollOf(int row, int scroll) const { return rowTop(row) < sticky_ ? 0 : scroll; }
    /// True if rows are compact: without labels, and with the busy fraction as height.
    [[nodiscard]] bool compact() const { return compact_; }
    /// Height of a line's row when folded.
    [[nodiscard]] int rowHeight() const { return row_height_; }
    /// Value of RowExtras::height that makes rows one size larger (1) or smaller (−1).
    [[nodiscard]] int otherHeight(int direction) const;
    [[nodiscard]] int heightOf(int row) const { return rowTop(row + 1) - rowTop(row); }
    [[nodiscard]] int contentHeight() const { return rowTop(rowCount()); }
    [[nodiscard]] int rowTop(int row) const { return tops_.empty() ? 0 : tops_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<LaneBand>& bands() const { return bands_; }
    /// Row at a vertical position; −1 outside all rows.
    [[nodiscard]] int rowAt(int y) const;
    [[nodiscard]] std::optional<LaneBand> bandAt(int y) const;

    /// Band of the reference timeline. The height is 0 if there is no reference, and in compact rows.
    [[nodiscard]] const LaneBand& reference() const { return reference_; }

    [[nodiscard]] int rawCount(int row) const { return static_cast<int>(rawShown(row).size()); }
    /// Converts a position in the lanes of a row to an index in the raw lanes of its line.
    [[nodiscard]] int rawLane(int row, int lane) const { return rawShown(row)[static_cast<std::size_t>(lane)].lane; }
    /// Number of rows of slices in the lane at this position.
    [[nodiscard]] int rawRows(int row, int lane) const { return rawShown(row)[static_cast<std::size_t>(lane)].rows; }
    [[nodiscard]] int rawTop(int row, int lane, int depth = 0) const;
    struct RawPlace {
        int row = 0;
        int lane = 0;
        int depth = 0;
    };
    [[nodiscard]] std::optional<RawPlace> rawAt(int y) const;

    [[nodiscard]] int counterCount(int row) const;
    [[nodiscard]] int counterTop(int row, int lane) const;

private:
    [[nodiscard]] const std::vector<RowExtras::RawShown>& rawShown(int row) const;
    [[nodiscard]] const std::vector<int>& rawTops(int row) const;
    [[nodiscard]] int rawHeight(int row) const;
    /// Height of the part of a row that is above its raw lanes.
    [[nodiscard]] int headHeight(int row) const { return isHeader(row) ? kGroupHeight : row_height_; }
    void layOps(const Lanes& lanes, int rows, int view_height);
    void layCompactRows(int height);
    void layLineNames();
    void layBands(const Lanes& lanes, int compute);

    std::vector<PlannedRow> plan_;
    std::vector<int> row_of_line_;
    int sticky_ = 0;
    int row_height_ = 1;
    bool compact_ = false;
    std::vector<LaneBand> bands_;
    LaneBand reference_;
    RowExtras extras_;
    using Tops = std::vector<std::vector<int>>;
    [[nodiscard]] static Tops topsOf(const std::vector<std::vector<RowExtras::RawShown>>& lines);
    Tops raw_tops_;         ///< by line: tops of its raw lanes and their end, relative to the bottom of the ops
    Tops pinned_tops_;      ///< like raw_tops_, for pinned tracks
    std::vector<int> tops_; ///< top of each row, followed by the end of the last row
};

/// A rectangle to draw, in logical pixels of the plot: x from the left edge of the plot, y from the top of the visible
/// part. The edges are aligned with device pixels.
struct TimelineShape {
    QRectF rect;
    Role role = Role::Forward;
    int chunk = 0;
    bool bad = false;                 ///< true for a check that found a difference
    ItemRef item;                     ///< empty if the shape merges several spans
    QString label;                    ///< text that fits into the rectangle; may be empty
    OpChange change = OpChange::Same; ///< change of the op if this is a reference
};

/// Total space between a label and the left and right edges.
inline constexpr double kLabelPadding = 4;

/// Returns the size of text with one or two lines, in logical pixels.
using TextSize = std::function<QSizeF(const QString&)>;

struct GeometryInput {
    const Session& session;
    TimeScale scale;
    const RowLayout& rows;
    int scroll_y = 0;
    int height = 0; ///< height of the visible part
    double device_pixel_ratio = 1;
    TextSize text_size;
    bool replay = true;             ///< true if checks are shown
    ColumnCache* columns = nullptr; ///< cache for raw lanes; may be null

    /// The same input at a different scroll position; pinned rows use 0.
    [[nodiscard]] GeometryInput scrolledTo(int y) const {
        GeometryInput out = *this;
        out.scroll_y = y;
        return out;
    }
};

/// True if the ops of a row are visible on the screen; false for headers.
[[nodiscard]] bool opsInSight(const GeometryInput& input, int row);
/// Visible rows for this input, from top to bottom.
[[nodiscard]] std::vector<int> visibleRows(const GeometryInput& input);

/// Vertical range of a lane that an op fills, as fractions of the height from the top.
struct BandPart {
    double from = 0;
    double to = 1;

    [[nodiscard]] QRectF of(const QRectF& lane) const;
};
/// Vertical range for checks, so that the bubble remains visible above and below.
inline constexpr BandPart kCheckPart{0.25, 0.75};
/// The two ops of an overlapped pair share the lane, with the forward at the top. Other ops fill the lane.
[[nodiscard]] BandPart bandPartOf(const Session& session, const ItemRef& item);

/// Rectangle of an item, clipped to the plot and at least one device pixel wide, even if the item is merged with
/// others. Empty if the item is not visible.
[[nodiscard]] QRectF itemRect(const GeometryInput& input, const ItemRef& item);

/// Item at a point in the plot. Spans within `slack` pixels of the point also match, so that narrow spans can be hit.
[[nodiscard]] ItemRef hitTest(const Session& session, const TimeScale& scale, const RowLayout& rows, int scroll_y,
                              double x, double y, double slack = 2, bool replay = true);

/// A step of a reference with the interval in which it is drawn. The main step of the overlay is drawn completely;
/// other steps are drawn only where they do not overlap with another step. The overlay must outlive the object.
struct ReferencePart {
    int step = 0; ///< see ReferenceStep
    const StepTimeline& timeline;
    const OpChanges* changes = nullptr;
    TimeRange seen;
};
/// Parts of the overlay, with the main step first.
[[nodiscard]] std::vector<ReferencePart> partsOf(const Session& session, const ReferenceOverlay& reference);

/// Shapes for the ops of the reference in the reference bands. Ops within one device pixel are merged. Linear in the
/// number of pixels and the number of visible ops in one step.
[[nodiscard]] std::vector<TimelineShape> buildReferenceShapes(const GeometryInput& input,
                                                              const ReferenceOverlay& reference);

} // namespace bubblescope::gui
