#pragma once

#include "app/gui/models/flow_overlay.h"
#include "app/gui/models/session_queries.h"
#include "app/gui/timeline/timeline_painter.h"

namespace bubblescope::gui {

/// Draws arrows and paths over the ops, where they are in sight.
class FlowPainter {
public:
    /// More arrows than this in sight are a carpet; a line of text stands for them.
    static constexpr std::size_t kMaxArrows = 1500;

    /// `captions`: the edge of the plot at which sentences are put, top or bottom.
    FlowPainter(QPainter& painter, const TimelineFrame& frame, Qt::Edge captions);

    void paintArrows(const std::vector<Arrow>& arrows);
    void paintPath(const Path& path, const QColor& colour);
    /// Edges and a veil over all rows, and what the stretch holds.
    void paintMeasured(const RangeStats& stats);
    /// Red marks over checks that found a difference, also where those are too narrow to be seen.
    void paintMismatches();

    /// Where an arrow's line runs, in the plot's pixels.
    [[nodiscard]] QLineF line(const Arrow& arrow) const;

private:
    [[nodiscard]] bool shown(const Arrow& arrow) const;
    [[nodiscard]] bool inSight(const QLineF& line) const;
    [[nodiscard]] int rowOf(int rank) const;
    [[nodiscard]] double y(const Arrow::End& end, const Arrow::End& other) const;
    [[nodiscard]] QColor colour(Arrow::Kind kind) const;
    void paintArrow(const QLineF& line, const QColor& colour, double width);
    void paintStretch(const Stretch& stretch, const QColor& colour);
    /// Next to those that were painted before.
    void paintCaption(const QString& caption, const QColor& colour);

    QPainter& p_;
    const TimelineFrame& f_;
    Qt::Edge edge_;
    int captions_ = 0;
};

/// From the top of a caption to that of the next, in logical pixels.
[[nodiscard]] int captionPitch(const QFont& font);

} // namespace bubblescope::gui
