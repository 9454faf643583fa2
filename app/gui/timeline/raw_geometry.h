#pragma once

#include "app/gui/timeline/geometry.h"
#include "core/trace/pyramid.h"
#include "core/trace/trace.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace bubblescope::gui {

/// The pixels of lanes as they were last looked at: when the view is moved most of them are the same. They lie on a
/// grid that begins where the view did when it was last zoomed; so what is drawn may be off by half a pixel.
class ColumnCache {
public:
    struct Lane {
        TimeNs length{0};       ///< of the range that was in view
        TimeNs grid{0};         ///< where it begins
        std::int64_t first = 0; ///< pixel of the grid that is the first in view
        std::vector<Pyramid::Column> columns;
        bool used = false; ///< in this frame
    };

    /// Of a track as a line shows it: ranks of one process show the same ones. Stays where it is until the next frame.
    [[nodiscard]] Lane& of(int line, TrackId track);
    /// Brings a lane up to date: asks the pyramid for those pixels alone that it does not know. Lanes by several
    /// threads.
    static void look(const Pyramid& pyramid, TrackId track, TimeNs from, TimeNs to, std::size_t pixels, Lane& lane);
    /// Forgets lanes that nobody has asked for since the last frame.
    void endFrame();
    /// The trace is another one.
    void clear() { lanes_.clear(); }

private:
    std::map<std::pair<int, TrackId>, Lane> lanes_;
};

/// A rectangle of a raw lane: a slice, or neighbouring pixels in which the same name takes most of the time, as high
/// as the lane is busy there.
struct RawShape {
    QRectF rect;
    StringId name = 0;
    SliceId slice = kNoId; ///< kNoId for pixels
    QString label;         ///< fits; empty where nothing does
};

/// Raw lanes of unfolded ranks that are in sight. Time grows with the pixels, whatever is in the trace.
[[nodiscard]] std::vector<RawShape> buildRawShapes(const GeometryInput& input);

/// The innermost slice at a point of the plot; slices within `slack` pixels are caught too.
[[nodiscard]] ItemRef rawHitTest(const GeometryInput& input, double x, double y, double slack = 2);

/// The rectangle of a slice's lane where the slice lies; empty when out of sight or folded.
[[nodiscard]] QRectF rawItemRect(const GeometryInput& input, const ItemRef& item);

} // namespace bubblescope::gui
