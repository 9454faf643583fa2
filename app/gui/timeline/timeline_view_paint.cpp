#include "app/gui/models/notebook.h"
#include "app/gui/timeline/extra_painter.h"
#include "app/gui/timeline/ghost_geometry.h"
#include "app/gui/timeline/note_painter.h"
#include "app/gui/timeline/pixel_canvas.h"
#include "app/gui/timeline/timeline_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "app/gui/timeline/trail_painter.h"

#include <QPaintEngine>
#include <QPainter>
#include <QScrollBar>

#include <optional>

namespace bubblescope::gui {

/// Whether rows have been scrolled below pinned ones, which are then drawn once more, over them.
bool TimelineView::pinsCover() const {
    return rows_.stickyHeight() > 0 && verticalScrollBar()->value() > 0;
}

GeometryInput TimelineView::geometryOf(Part part) const {
    GeometryInput input = geometry();
    if (part == Part::Scrolled) return input;
    input.scroll_y = 0;
    input.height = rows_.stickyHeight();
    return input;
}

TimelineFrame TimelineView::frameOf(Part part, const GeometryInput& input) const {
    QRect area = plot();
    area.setHeight(input.height);
    TimelineFrame frame{themes_.theme(), *state_.session(), input, shapes_, area, state_.step(), font()};
    frame.group = state_.rows().group;
    frame.pinned = part == Part::Pinned;
    frame.caption_top = rows_.stickyHeight();
    return frame;
}

/// What is kept until the view changes.
void TimelineView::renderBase(Part part, QImage& image) {
    const double ratio = devicePixelRatioF();
    const int height = part == Part::Pinned ? kRulerHeight + rows_.stickyHeight() : viewport()->height();
    const QSize device_size = (QSizeF(viewport()->width(), height) * ratio).toSize();
    if (image.size() != device_size) image = QImage(device_size, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    QPainter painter(&image);
    drawBase(painter, part, &image);
}

/// `image`: which the painter paints on; none where that is no picture.
void TimelineView::drawBase(QPainter& painter, Part part, QImage* image) {
    GeometryInput input = geometryOf(part);
    if (image != nullptr) input.columns = &columns_;
    shapes_ = buildShapes(input);
    TimelineFrame frame = frameOf(part, input);
    std::optional<PixelCanvas> pixels;
    if (image != nullptr) frame.pixels = &pixels.emplace(*image, frame.plot, devicePixelRatioF());
    // Pictures look as the screen does; in drawings texts stay texts.
    if (painter.paintEngine()->type() == QPaintEngine::Raster) {
        labels_.setFont(font());
        small_labels_.setFont(smallFont(font()));
        frame.labels = &labels_;
        frame.smaller = &small_labels_;
    }
    TimelinePainter(painter, frame).paintBase();
    ExtraPainter extra(painter, frame);
    extra.paintRaw(buildRawShapes(input));
    if (counters_) extra.paintCounters(buildCounterShapes(input, *counters_), *counters_);
    if (const GhostPtr& ghost = state_.shownGhost())
        extra.paintGhost(buildGhostShapes(input, *ghost), *ghost, state_.ghostShare());
    TrailPainter trail(painter, frame, Qt::BottomEdge);
    if (state_.shows(Trail::Transfers)) trail.paintArrows(trails().transfers());
    if (state_.shows(Trail::CriticalPath)) trail.paintPath(trails().criticalPath(), themes_.theme().bad);
    trail.paintMismatches();
}

/// What follows the mouse and the selection.
void TimelineView::drawOverlay(QPainter& painter, Part part, const ItemRef& hover) {
    const GeometryInput input = geometryOf(part);
    const TimelineFrame frame = frameOf(part, input);
    if (notebook_ != nullptr) NotePainter(painter, frame).paint(notebook_->notes(), notebook_->current());
    TimelinePainter(painter, frame).paintOverlay(state_.selection(), hover, state_.highlights());
    TrailPainter trail(painter, frame, Qt::TopEdge);
    const ItemRef selection = state_.selection();
    if (selection && selection.step == state_.step()) {
        if (state_.shows(Trail::Microbatch))
            trail.paintPath(trails().microbatchOf(selection), themes_.theme().selection);
        if (!state_.shows(Trail::Transfers)) trail.paintArrows(trails().transfersOf(selection));
        trail.paintPath(trails().blameOf(selection), themes_.theme().selection);
    }
    if (state_.measured().length() > TimeNs{0}) trail.paintMeasured(statsOf(*state_.session(), state_.measured()));
}

StepTrails& TimelineView::trails() {
    if (!trails_ || trails_->step() != state_.step()) trails_.emplace(state_.session(), state_.step());
    return *trails_;
}

void TimelineView::draw(QPainter& painter) {
    if (!state_.session()) {
        painter.fillRect(viewport()->rect(), themes_.theme().timeline);
        return;
    }
    drawBase(painter, Part::Scrolled, nullptr);
    drawOverlay(painter, Part::Scrolled, {});
    if (!pinsCover()) return;
    drawBase(painter, Part::Pinned, nullptr);
    drawOverlay(painter, Part::Pinned, {});
}

void TimelineView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    if (!state_.session()) {
        painter.fillRect(viewport()->rect(), themes_.theme().timeline);
        return;
    }
    const bool again = !base_valid_ || base_.devicePixelRatio() != devicePixelRatioF();
    base_valid_ = true;
    if (again) renderBase(Part::Scrolled, base_);
    painter.drawImage(0, 0, base_);
    drawOverlay(painter, Part::Scrolled, hover_);
    const bool pins = pinsCover();
    if (again && pins) renderBase(Part::Pinned, pinned_);
    if (again) columns_.endFrame();
    if (!pins) return;
    painter.drawImage(0, 0, pinned_);
    drawOverlay(painter, Part::Pinned, hover_);
}

} // namespace bubblescope::gui
