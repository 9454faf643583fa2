#pragma once

#include "app/gui/models/flow_overlay.h"
#include "app/gui/models/reference_overlay.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/timeline/counters.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/timeline_painter.h"

namespace bubblescope::gui {

/// Draws the lanes below the ops of a row: raw lanes, counters and the reference. Draws their names in the header.
class ExtraPainter {
public:
    ExtraPainter(QPainter& painter, const TimelineFrame& frame);

    /// Draws the names of raw lanes. In vector formats, also draws the lanes, which RowPainter draws in images.
    void paintRaw();
    void paintCounters(const std::vector<CounterShape>& shapes, const CounterLanes& counters);
    /// `fraction` is the position between the observed step (0) and the reference (1).
    void paintReference(const std::vector<TimelineShape>& shapes, const ReferenceOverlay& reference, double fraction);

private:
    [[nodiscard]] QColor referenceColour(const TimelineShape& shape) const;
    void paintRawNames();
    /// Calls `paint` for each row with a function that returns the position of a lane's name in the header, or nothing
    /// if the name is not visible.
    template <class Paint>
    void paintNames(int height, const Paint& paint);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
};

/// Draws visible arrows and paths over the ops.
class FlowPainter {
public:
    /// Maximum number of arrows. If there are more arrows, a line of text replaces them.
    static constexpr std::size_t kMaxArrows = 1500;

    /// `edge` is the edge of the plot for captions, top or bottom. `captions` is the number of captions that another
    /// painter has already drawn there.
    FlowPainter(QPainter& painter, const TimelineFrame& frame, Qt::Edge edge, int captions = 0);

    void paintArrows(const std::vector<Arrow>& arrows);
    /// Draws arrows between slices; in a complete trace, only the arrows that start in the visible range.
    void paintFlows(const std::vector<SliceFlow>& flows, const QColor& colour);
    void paintFlows(const SliceFlows& flows);
    void paintPath(const Path& path, const QColor& colour);
    /// Draws the measured interval with its totals, over all rows or over the lanes of some tracks.
    void paintMeasured(const RangeStats& stats, const std::vector<TrackId>& tracks);
    /// Draws a red mark at each check that found a difference, even if the check is too narrow to be visible.
    void paintMismatches();

    /// Line of an arrow, in pixels of the plot.
    [[nodiscard]] QLineF line(const Arrow& arrow) const;

private:
    [[nodiscard]] bool shown(const Arrow& arrow) const;
    [[nodiscard]] bool inSight(const QLineF& line) const;
    [[nodiscard]] int rowOf(int rank) const;
    [[nodiscard]] double y(const Arrow::End& end, const Arrow::End& other) const;
    [[nodiscard]] QColor colour(Arrow::Kind kind) const;
    void paintStretch(const Stretch& stretch, const QColor& colour);
    void paintTooMany(std::size_t arrows);
    void hideCutLabels(const QRectF& box);
    /// Draws a caption next to the previous captions. `anchor` is the position in the plot of the item that the caption
    /// describes.
    void paintCaption(const QString& caption, const QColor& colour, double anchor = 0);
    /// Left edge of the cause at the end of a path, in pixels of the plot; 0 if the cause is not visible.
    [[nodiscard]] double causeLeft(const Path& path) const;

    QPainter& p_;
    const TimelineFrame& f_;
    Qt::Edge edge_;
    int captions_ = 0;
};

/// In the lower timeline, the colour of an op that differs from the same op of the open run.
[[nodiscard]] QColor opChangeColour(const Theme& theme, OpChange change);

/// Distance between two captions in logical pixels.
[[nodiscard]] int captionPitch(const QFont& font);

} // namespace bubblescope::gui
