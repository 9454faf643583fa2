#pragma once

#include "app/gui/plain/plain_geometry.h"
#include "app/gui/plain/plain_queries.h"
#include "app/gui/theme/theme.h"
#include "app/gui/timeline/pixel_canvas.h"

#include <QFont>
#include <QRect>

#include <vector>

class QImage;
class QPainter;

namespace bubblescope::gui {

/// What one image of a plain trace shows. References must outlive the call.
struct PlainFrame {
    const Theme& theme;
    PlainInput input;
    const PlainFolds& folds;
    const std::vector<SliceId>& marked;    ///< see PlainView::mark()
    const std::vector<bool>& marked_names; ///< by StringId; empty if nothing is marked
    QRect plot;                            ///< right of the names, below the ruler
    QFont font;
    bool all_flows = false;
};

/// What lies over that.
struct PlainOverlay {
    const PlainArea& area;
    SliceId selection = kNoId;
    SliceId hover = kNoId;
    const std::vector<PlainFlow>& flows; ///< of the selection
};

/// Draws the shapes from plain_geometry.h. Edges are on device pixels.
class PlainPainter {
public:
    PlainPainter(QPainter& painter, const PlainFrame& frame) : p_(painter), f_(frame) {}

    /// All but the overlay. `image` is what the painter paints on.
    void paintBase(QImage& image, LabelCache& labels);
    void paintOverlay(const PlainOverlay& overlay);

private:
    void paintGround();
    void paintShapes(PixelCanvas& pixels, LabelCache& labels);
    void paintInstants(PixelCanvas& pixels);
    void paintFlows();
    void paintMarks();
    void paintRuler();
    void paintNames();
    void paintArea(const PlainArea& area);
    [[nodiscard]] QColor colourOf(StringId name) const;
    [[nodiscard]] const PlainRow& rowOf(int lane) const;
    template <class Paint>
    void inPlot(const Paint& paint);

    QPainter& p_;
    const PlainFrame& f_;
};

} // namespace bubblescope::gui
