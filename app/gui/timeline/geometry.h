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

/// A lane's band within its row, in logical pixels from the row's top.
struct LaneBand {
    LaneKind kind = LaneKind::Compute; ///< Compute includes Bubble
    int top = 0;
    int height = 0;
};

/// The content of rows other than the lanes of their ops, and the choice of rows.
struct RowExtras {
    /// A raw lane shown by an unfolded line.
    struct RawShown {
        int lane = 0; ///< its index among the line's raw lanes
        int rows = 1; ///< one for each depth of its stacks, or one for all depths
    };
    bool reference = false;                            ///< true if there is a band for the reference below the ops
    std::vector<std::vector<RawShown>> raw_lanes{};    ///< per line; lines without an entry are folded
    std::vector<std::vector<RawShown>> pinned_lanes{}; ///< per line: lanes that PlannedRow::tracks_of shows
    std::vector<int> counters{};                       ///< number of counters per line; not in compact rows
    int height = 0;                                    ///< requested height of the op band; 0 = automatic
    bool transfers = true;                             ///< true if there are bands for transfers
    std::optional<std::vector<PlannedRow>> rows{};     ///< if empty, all lines in order
};

/// Positions of rows and lanes, in logical pixels from the top of the first row. Rows grow to fill the view, up to a
/// comfortable height, and shrink down to a readable one; if they still do not fit, the view scrolls. If that would
/// take many screens, rows are compact instead: as thin as possible, with a single band for ops and bubbles.
///
/// Pinned rows come first and do not scroll: drawing and hit-testing in the top stickyHeight() pixels of the view use a
/// scroll position of 0.
class RowLayout {
public:
    static constexpr int kRawHeight = 14;  ///< height of a row of slices
    static constexpr int kRawPitch = 16;   ///< a raw lane with one row and the gap to the next
    static constexpr int kDepthPitch = 15; ///< a row of a stack, and the line between it and the next
    static constexpr int kCounterHeight = 24;
    static constexpr int kCounterPitch = 28;
    static constexpr int kMinCompactHeight = 3; ///< minimum height of a compact row
    static constexpr int kGroupHeight = 22;
    static constexpr int kMinReadableHeight = 24; ///< minimum height of the op band; lower rows are compact
    static constexpr int kMaxBandHeight = 400;

    RowLayout() = default;
    RowLayout(const Lanes& lanes, int view_height, RowExtras extras = {});

    [[nodiscard]] int rowCount() const { return static_cast<int>(plan_.size()); }
    [[nodiscard]] const PlannedRow& row(int row) const { return plan_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<PlannedRow>& plan() const { return plan_; }
    [[nodiscard]] bool isHeader(int row) const { return plan_[static_cast<std::size_t>(row)].header(); }
    /// −1 for a header.
    [[nodiscard]] int lineAt(int row) const { return plan_[static_cast<std::size_t>(row)].line; }
    /// The line whose raw lanes a row shows: also of a header of pinned tracks.
    [[nodiscard]] int rawLineAt(int row) const {
        return this->row(row).tracks_of >= 0 ? this->row(row).tracks_of : lineAt(row);
    }
    /// The row of a line; −1 if it is not shown.
    [[nodiscard]] int rowOf(int line) const;
    /// Height of the pinned rows; 0 if there are too many to stay in place.
    [[nodiscard]] int stickyHeight() const { return sticky_; }
    /// The scroll position that applies at a position in the view; 0 for pinned rows.
    [[nodiscard]] int scrollAt(int view_y, int scroll) const { return view_y < sticky_ ? 0 : scroll; }
    [[nodiscard]] int scrollOf(int row, int scroll) const { return rowTop(row) < sticky_ ? 0 : scroll; }
    /// True if rows are compact: without labels, with busy time shown as height.
    [[nodiscard]] bool compact() const { return compact_; }
    /// Height of a line's row when folded.
    [[nodiscard]] int rowHeight() const { return row_height_; }
    /// The value of RowExtras::height for the next larger (1) or smaller (−1) size.
    [[nodiscard]] int otherHeight(int direction) const;
    [[nodiscard]] int heightOf(int row) const { return rowTop(row + 1) - rowTop(row); }
    [[nodiscard]] int contentHeight() const { return rowTop(rowCount()); }
    [[nodiscard]] int rowTop(int row) const { return tops_.empty() ? 0 : tops_[static_cast<std::size_t>(row)]; }
    [[nodiscard]] const std::vector<LaneBand>& bands() const { return bands_; }
    /// −1 outside.
    [[nodiscard]] int rowAt(int y) const;
    [[nodiscard]] std::optional<LaneBand> bandAt(int y) const;

    /// The band of the reference; its height is 0 if there is none, and in compact rows.
    [[nodiscard]] const LaneBand& reference() const { return reference_; }

    [[nodiscard]] int rawCount(int row) const { return static_cast<int>(rawShown(row).size()); }
    /// The index among its line's raw lanes of the `lane`th lane that a row shows.
    [[nodiscard]] int rawLane(int row, int lane) const { return rawShown(row)[static_cast<std::size_t>(lane)].lane; }
    /// Number of rows of slices in that lane.
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
    /// Height of the part above the raw lanes of a row.
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
    Tops raw_tops_;         ///< by line: of its raw lanes and their end, from the bottom of the ops
    Tops pinned_tops_;      ///< the same way of its pinned tracks
    std::vector<int> tops_; ///< top of each row, and the end of the last one
};

/// A rectangle to draw, in logical pixels of the plot (x from the plot's left edge, y from the top of the visible
/// part). Its edges are on device pixels.
struct TimelineShape {
    QRectF rect;
    Role role = Role::Forward;
    int chunk = 0;
    bool bad = false;                 ///< a check that found a difference
    ItemRef item;                     ///< empty if spans narrower than a pixel were merged
    QString label;                    ///< fits the rectangle; may be empty
    OpChange change = OpChange::Same; ///< change of the op, for a reference
};

/// Total space between a label and the left and right edges.
inline constexpr double kLabelPadding = 4;

/// The size of a text of one or two lines, in logical pixels as drawn.
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

    /// The same input at another scroll position; pinned rows use 0.
    [[nodiscard]] GeometryInput scrolledTo(int y) const {
        GeometryInput out = *this;
        out.scroll_y = y;
        return out;
    }
};

/// True if the ops of a row are on the screen; false for headers.
[[nodiscard]] bool opsInSight(const GeometryInput& input, int row);
/// The rows that this input applies to, from top to bottom.
[[nodiscard]] std::vector<int> visibleRows(const GeometryInput& input);

/// The vertical part of a lane that an op fills, counted from the top.
struct BandPart {
    double from = 0;
    double to = 1;

    [[nodiscard]] QRectF of(const QRectF& lane) const;
};
/// Checks leave the bubble visible above and below.
inline constexpr BandPart kCheckPart{0.25, 0.75};
/// The two halves of an overlapped pair split the lane, with forwards at the top. Other ops fill the lane.
[[nodiscard]] BandPart bandPartOf(const Session& session, const ItemRef& item);

/// The rectangle of an item, merged or not, clipped to the plot and at least one device pixel wide. Empty if the item
/// is not visible.
[[nodiscard]] QRectF itemRect(const GeometryInput& input, const ItemRef& item);

/// The item at a point of the plot; spans within `slack` pixels also count, so that narrow ones can be hit.
[[nodiscard]] ItemRef hitTest(const Session& session, const TimeScale& scale, const RowLayout& rows, int scroll_y,
                              double x, double y, double slack = 2, bool replay = true);

/// One step of a reference, and the interval in which it is drawn: the overlay's own step as a whole, and the steps
/// around it where they do not overlap another one. Keeps a reference to the overlay.
struct ReferencePart {
    int step = 0; ///< as in ReferenceStep
    const StepTimeline& timeline;
    const OpChanges* changes = nullptr;
    TimeRange seen;
};
/// The overlay's own step comes first.
[[nodiscard]] std::vector<ReferencePart> partsOf(const Session& session, const ReferenceOverlay& reference);

/// The ops of the reference in the reference bands. Ops within one device pixel are merged, so time grows with the
/// number of pixels and of visible ops in one step.
[[nodiscard]] std::vector<TimelineShape> buildReferenceShapes(const GeometryInput& input,
                                                              const ReferenceOverlay& reference);

} // namespace bubblescope::gui
