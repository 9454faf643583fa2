#include "app/gui/models/notebook.h"
#include "app/gui/timeline/extra_painter.h"
#include "app/gui/timeline/ghost_geometry.h"
#include "app/gui/timeline/note_painter.h"
#include "app/gui/timeline/timeline_view.h"
#include "app/gui/timeline/trail_painter.h"

#include <QPaintEngine>
#include <QPainter>
#include <QScrollBar>

namespace bubblescope::gui {

/// What is kept until the view changes.
void TimelineView::renderBase() {
    const double ratio = devicePixelRatioF();
    const QSize device_size = (QSizeF(viewport()->size()) * ratio).toSize();
    if (base_.size() != device_size) base_ = QImage(device_size, QImage::Format_RGB32);
    base_.setDevicePixelRatio(ratio);
    PixelCanvas pixels(base_, plot(), ratio);
    QPainter painter(&base_);
    drawBase(painter, &pixels);
    columns_.endFrame();
    base_valid_ = true;
}

/// `pixels`: of what the painter paints on; none where that has none.
void TimelineView::drawBase(QPainter& painter, PixelCanvas* pixels) {
    GeometryInput input = geometry();
    if (pixels != nullptr) input.columns = &columns_;
    shapes_ = buildShapes(input);
    TimelineFrame frame{themes_.theme(), *state_.session(), input, shapes_, plot(), state_.step(), font()};
    frame.pixels = pixels;
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
void TimelineView::drawOverlay(QPainter& painter, const ItemRef& hover) {
    const GeometryInput input = geometry();
    const TimelineFrame frame{themes_.theme(), *state_.session(), input, shapes_, plot(), state_.step(), font()};
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
    drawBase(painter, nullptr);
    drawOverlay(painter, {});
}

void TimelineView::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    if (!state_.session()) {
        painter.fillRect(viewport()->rect(), themes_.theme().timeline);
        return;
    }
    if (!base_valid_ || base_.devicePixelRatio() != devicePixelRatioF()) renderBase();
    painter.drawImage(0, 0, base_);
    drawOverlay(painter, hover_);
}

} // namespace bubblescope::gui
