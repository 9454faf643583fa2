#pragma once

#include "app/gui/models/reference_overlay.h"
#include "app/gui/timeline/counters.h"
#include "app/gui/timeline/raw_geometry.h"
#include "app/gui/timeline/timeline_painter.h"

namespace bubblescope::gui {

/// Draws what lies below the ops of a row: raw lanes, counters and the reference, with their names in the header.
class ExtraPainter {
public:
    ExtraPainter(QPainter& painter, const TimelineFrame& frame);

    void paintRaw(const std::vector<RawShape>& shapes);
    void paintCounters(const std::vector<CounterShape>& shapes, const CounterLanes& counters);
    /// `share`: how far it has come from the observed step.
    void paintReference(const std::vector<TimelineShape>& shapes, const ReferenceOverlay& reference, double share);

private:
    /// Neighbouring shapes that are pixels of one lane.
    struct LanePixels {
        std::size_t first = 0;
        std::size_t end = 0;
    };
    static std::vector<LanePixels> lanesOfPixels(const std::vector<RawShape>& shapes);
    void paintPixels(const std::vector<RawShape>& shapes);
    void writeLane(const std::vector<RawShape>& shapes, const LanePixels& lane, PixelCanvas& pixels, double top) const;
    void paintRawNames();
    /// Calls `paint` for each row, with what says where in the header a lane's name stands: nothing if out of sight.
    template <class Paint>
    void paintNames(int height, const Paint& paint);

    QPainter& p_;
    const TimelineFrame& f_;
    QFont small_;
};

/// Slices of one name have one colour everywhere: one of some muted tones.
[[nodiscard]] QColor rawColour(const Theme& theme, StringId name);

} // namespace bubblescope::gui
