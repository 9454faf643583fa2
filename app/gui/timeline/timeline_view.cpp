#include "app/gui/timeline/timeline_view.h"

#include "app/gui/models/notes.h"
#include "app/gui/timeline/extra_painters.h"
#include "app/gui/timeline/note_marks.h"
#include "app/gui/timeline/pixel_canvas.h"
#include "app/gui/timeline/raw_painter.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QImage>
#include <QPaintEngine>
#include <QPaintEvent>
#include <QPainter>
#include <QRegion>
#include <QScrollBar>

#include <cmath>
#include <optional>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kMinScroll = 12; ///< pixels per notch of the wheel over the names

} // namespace

TimelineView::TimelineView(ViewState& state, ThemeManager& themes, QWidget* parent)
    : TimeView(themes, kHeaderWidth, kRulerHeight, parent), state_(state) {
    installTimelineAccess(*this); // must precede the announcement of a name, which creates the interface
    setObjectName(QStringLiteral("timeline"));
    setAccessibleName(tr("Timeline"));
    setRange(state_.range());
    connect(&state_, &ViewState::sessionChanged, this, [this] {
        hover_ = {};
        if (std::exchange(dragging_, false)) viewport()->unsetCursor();
        pressed_ = false;
        flows_.reset();
        columns_.clear();
        all_counters_.reset();
        counters_.reset();
        counter_job_.cancel();
        showRows();
    });
    connect(&state_, &ViewState::rowsChanged, this, &TimelineView::showRows);
    connect(&state_, &ViewState::stepChanged, this, [this] {
        if (state_.rows().order == RowOrder::Bubble) {
            relayout();
        } else {
            invalidate();
        }
    });
    connect(&state_, &ViewState::selectionChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&state_, &ViewState::selectionChanged, this, [this] { announceSelection(*this); });
    connect(&state_, &ViewState::highlightsChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&state_, &ViewState::flowsChanged, this, &TimelineView::relayout); // captions need space
    connect(&state_, &ViewState::measuredChanged, this, [this] {
        if (const bool some = state_.measured().length() > TimeNs{0}; some != measures_) {
            measures_ = some;
            relayout(); // the caption needs space
        }
        viewport()->update();
    });
    connect(&state_, &ViewState::marksChanged, this, &TimelineView::invalidate);
    connect(&state_, &ViewState::diagnosisMade, this, [this](int step) {
        if (!flows_ || flows_->step() != step) return;
        flows_.reset();
        invalidate();
    });
    connect(&state_, &ViewState::referenceChanged, this, &TimelineView::relayout);
    connect(&state_, &ViewState::referenceMoved, this, &TimelineView::invalidate);
    connect(&state_, &ViewState::rankRequested, this, &TimelineView::showRank);
}

void TimelineView::setNoteStore(NoteStore* note_store) {
    note_store_ = note_store;
    connect(note_store_, &NoteStore::changed, viewport(), qOverload<>(&QWidget::update));
    connect(note_store_, &NoteStore::currentChanged, viewport(), qOverload<>(&QWidget::update));
}

QSize TimelineView::sizeHint() const {
    return {900, 420};
}

QSize TimelineView::minimumSizeHint() const {
    return {kHeaderWidth + 200, kRulerHeight + 80};
}

std::vector<int> TimelineView::rowsInSight() const {
    std::vector<int> out;
    for (int row = 0; row < rows_.rowCount(); ++row) {
        if (!rowRect(row).isEmpty()) out.push_back(row);
    }
    return out;
}

QRect TimelineView::rowRect(int row) const {
    if (row < 0 || row >= rows_.rowCount()) return {};
    const int scroll = rows_.scrollOf(row, verticalScrollBar()->value());
    const QRect whole(0, kRulerHeight + rows_.rowTop(row) - scroll, viewport()->width(), rows_.heightOf(row));
    const bool pinned = rows_.rowTop(row) < rows_.stickyHeight();
    const int top = kRulerHeight + (pinned ? 0 : rows_.stickyHeight());
    return whole & QRect(0, top, viewport()->width(), viewport()->height() - top);
}

GeometryInput TimelineView::geometry() const {
    return {*state_.session(),
            scale(),
            rows_,
            verticalScrollBar()->value(),
            plot().height(),
            devicePixelRatioF(),
            [this](const QString& text) { return textSize(text); },
            !state_.rows().hides(LaneGroup::Replay)};
}

GeometryInput TimelineView::geometryAt(double plot_y) const {
    return geometry().scrolledTo(rows_.scrollAt(static_cast<int>(std::floor(plot_y)), verticalScrollBar()->value()));
}

int TimelineView::contentY(const QPointF& position) const {
    const int y = static_cast<int>(std::floor(position.y())) - kRulerHeight;
    return y + rows_.scrollAt(y, verticalScrollBar()->value());
}

RowExtras TimelineView::extras() const {
    const Session& session = *state_.session();
    const RowChoice& choice = state_.rows();
    RowExtras extras;
    extras.height = choice.height;
    extras.reference = state_.reference() != nullptr;
    extras.transfers = !choice.hides(LaneGroup::Transfers);
    extras.rows = planRows(facts_, choice);
    const Result<RowFilter> filter = parseRowFilter(choice.filter);
    const auto hides = [&](const RawLane& lane) {
        return choice.hides(lane.device ? LaneGroup::Kernels : LaneGroup::Threads) ||
               (filter.ok() && !filter.value().acceptsTrack(lane.name()));
    };
    std::vector<PlannedRow> pinned;
    for (int line = 0; line < static_cast<int>(session.lanes.lineCount()); ++line) {
        auto& shown = extras.raw_lanes.emplace_back();
        auto& above = extras.pinned_lanes.emplace_back();
        const auto& lanes = session.raw.of(line);
        for (std::size_t lane = 0; !choice.pinned_tracks.empty() && lane < lanes.size(); ++lane) {
            if (choice.pinsTrack(lanes[lane].track))
                above.push_back({static_cast<int>(lane), choice.flattens(lanes[lane].track) ? 1 : lanes[lane].depth});
        }
        if (!above.empty()) pinned.push_back({.pinned = true, .tracks_of = line});
        for (std::size_t lane = 0; choice.unfolds(line) && lane < lanes.size(); ++lane) {
            if (!hides(lanes[lane]))
                shown.push_back({static_cast<int>(lane), choice.flattens(lanes[lane].track) ? 1 : lanes[lane].depth});
        }
        // A folded line without ops is empty.
        const bool counts = counters_ && choice.counters && (session.hasSteps() || choice.unfolds(line));
        extras.counters.push_back(counts ? static_cast<int>(counters_->of(line).size()) : 0);
    }
    extras.rows->insert(extras.rows->begin(), pinned.begin(), pinned.end());
    return extras;
}

void TimelineView::showCounters(bool on) {
    RowChoice rows = state_.rows();
    rows.counters = on;
    state_.setRows(std::move(rows));
}

/// Applies the rows chosen in ViewState.
void TimelineView::showRows() {
    if (state_.rows().counters && !all_counters_ && state_.session() && !counter_job_.running()) {
        counter_job_.start(
            [session = state_.session()](JobControl& control) { return CounterLanes::build(session, control); },
            [this](Result<std::shared_ptr<const CounterLanes>> made) {
                if (!made.ok()) return;
                all_counters_ = std::move(made).value();
                relayout();
            });
    }
    relayout();
    announceRows(*this);
}

void TimelineView::setUnfolded(int line, bool unfolded) {
    RowChoice rows = state_.rows();
    rows.setUnfolded(line, unfolded);
    state_.setRows(std::move(rows));
    if (unfolded) showLine(line);
}

void TimelineView::setRowHeight(int height) {
    // The row in the middle stays in place.
    const int row = rows_.rowAt(verticalScrollBar()->value() + plot().height() / 2);
    RowChoice rows = state_.rows();
    rows.height = height;
    state_.setRows(std::move(rows));
    if (row >= 0) verticalScrollBar()->setValue(rows_.rowTop(row) + rows_.heightOf(row) / 2 - plot().height() / 2);
}

/// Number of captions at the bottom that the cached part draws.
int TimelineView::baseCaptions() const {
    const bool path = state_.pipeline() && state_.shows(FlowOverlay::CriticalPath);
    return (state_.shows(FlowOverlay::Transfers) ? 1 : 0) + (path ? 1 : 0);
}

/// Space below the last row for captions at the bottom.
int TimelineView::captionRoom() const {
    return (baseCaptions() + (measures_ ? 1 : 0)) * captionPitch(font());
}

void TimelineView::relayout() {
    const int height = plot().height() - captionRoom();
    const Result<RowFilter> filter = parseRowFilter(state_.rows().filter);
    counters_ = all_counters_ && filter.ok() && !filter.value().tracks.empty() ? all_counters_->named(filter.value())
                                                                               : all_counters_;
    facts_ = state_.session() ? rowFacts(*state_.session(), state_.step()) : std::vector<RowFacts>();
    rows_ = state_.session() ? RowLayout(state_.session()->lanes, height, extras()) : RowLayout();
    verticalScrollBar()->setRange(0, std::max(0, rows_.contentHeight() - height));
    verticalScrollBar()->setPageStep(plot().height());
    verticalScrollBar()->setSingleStep(std::max(kMinScroll, rows_.rowHeight() / 2));
    invalidate();
}

ItemRef TimelineView::itemAt(const QPointF& position) const {
    const QRect area = plot();
    if (!state_.session() || !area.contains(position.toPoint())) return {};
    const QPointF place = position - area.topLeft();
    const GeometryInput input = geometryAt(place.y());
    const ItemRef item =
        hitTest(input.session, input.scale, rows_, input.scroll_y, place.x(), place.y(), 2, input.replay);
    return item ? item : rawHitTest(input, place.x(), place.y());
}

QRectF TimelineView::rectOf(const ItemRef& item) const {
    if (!state_.session()) return {};
    if (!item) return {plot().topLeft(), QSizeF()};
    const int row = rows_.rowOf(state_.session()->lanes.lineOf(item));
    const int scroll = row < 0 ? 0 : rows_.scrollOf(row, verticalScrollBar()->value());
    return itemRect(geometry().scrolledTo(scroll), item).translated(plot().topLeft());
}

QPointF TimelineView::centreOf(const ItemRef& item) const {
    return rectOf(item).center();
}

/// The item's rectangle with its outline; empty if the item is not visible.
QRect TimelineView::outlineOf(const ItemRef& item) const {
    constexpr int kOutline = 3; // pixels around the item, more than the width of any pen
    const QRectF rect = rectOf(item);
    return rect.isEmpty() ? QRect() : rect.toAlignedRect().adjusted(-kOutline, -kOutline, kOutline, kOutline);
}

/// True if rows are scrolled below the pinned rows, which are then drawn again on top.
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
    TimelineFrame frame{themes_.theme(), *state_.session(), input, area, state_.step(), font()};
    frame.group = state_.rows().group;
    frame.pinned = part == Part::Pinned;
    frame.caption_top = rows_.stickyHeight();
    if (!state_.markedNames().empty()) frame.marked_names = &state_.markedNames();
    return frame;
}

TimelineView::Kept::Kept() : names({0, kRulerHeight}, kHeaderWidth) {}

/// Draws the part that changes only with the view.
void TimelineView::showBase(QPainter& painter, Part part, bool whole, Kept& kept) {
    const int height = part == Part::Pinned ? kRulerHeight + rows_.stickyHeight() : viewport()->height();
    const QSize size(viewport()->width(), height);
    kept.picture.draw(painter, version_, size, devicePixelRatioF(), whole, [&](QImage& image) {
        QPainter on_image(&image);
        const bool known = kept.names.show(image, names_version_);
        drawBase(on_image, part, &image, !known);
        if (!known) kept.names.keep(image, names_version_);
    });
}

/// `image` is the image that the painter paints on; null for vector formats. `names` is true if the names must be
/// painted.
void TimelineView::drawBase(QPainter& painter, Part part, QImage* image, bool names) {
    GeometryInput input = geometryOf(part);
    if (image != nullptr) input.columns = &columns_;
    TimelineFrame frame = frameOf(part, input);
    frame.names = names;
    std::optional<PixelCanvas> pixels;
    if (image != nullptr) frame.pixels = &pixels.emplace(*image, frame.plot, devicePixelRatioF());
    // Images look like the screen; vector formats preserve text.
    if (painter.paintEngine()->type() == QPaintEngine::Raster) {
        labels_.setFont(font());
        small_labels_.setFont(smallFont(font()));
        frame.labels = &labels_;
        frame.smaller = &small_labels_;
    }
    TimelinePainter(painter, frame).paintBase();
    ExtraPainter extra(painter, frame);
    extra.paintRaw();
    RawPainter(painter, frame).paintMarks(state_.marked());
    if (counters_) extra.paintCounters(buildCounterShapes(input, *counters_), *counters_);
    if (const ReferenceOverlayPtr& reference = state_.shownReference())
        extra.paintReference(buildReferenceShapes(input, *reference), *reference, state_.referenceBlend());
    FlowPainter flow(painter, frame, Qt::BottomEdge);
    const bool steps = frame.session.hasSteps();
    if (state_.shows(FlowOverlay::Transfers)) {
        if (steps)
            flow.paintArrows(flows().transfers());
        else
            flow.paintFlows(frame.session.flows);
    }
    if (steps && state_.shows(FlowOverlay::CriticalPath)) flow.paintPath(flows().criticalPath(), themes_.theme().bad);
    flow.paintMismatches();
}

/// Draws the parts that depend on the mouse and the selection.
void TimelineView::drawOverlay(QPainter& painter, Part part, const ItemRef& hover) {
    const GeometryInput input = geometryOf(part);
    const TimelineFrame frame = frameOf(part, input);
    if (note_store_ != nullptr) NotePainter(painter, frame).paint(note_store_->notes(), note_store_->current());
    TimelinePainter(painter, frame).paintOverlay(state_.selection(), hover, state_.highlights());
    if (measures_)
        FlowPainter(painter, frame, Qt::BottomEdge, baseCaptions())
            .paintMeasured(statsOf(*state_.session(), state_.measured()), state_.measuredTracks());
    FlowPainter flow(painter, frame, Qt::TopEdge);
    const ItemRef selection = state_.selection();
    if (selection.kind == ItemKind::Slice)
        flow.paintFlows(frame.session.flows.of(frame.session.slice(selection)), themes_.theme().selection);
    if (selection && selection.step == state_.step()) {
        if (state_.shows(FlowOverlay::Microbatch))
            flow.paintPath(flows().microbatchOf(selection), themes_.theme().selection);
        if (!state_.shows(FlowOverlay::Transfers)) flow.paintArrows(flows().transfersOf(selection));
        flow.paintPath(flows().causeOf(selection), themes_.theme().selection);
    }
}

StepFlows& TimelineView::flows() {
    if (!flows_ || flows_->step() != state_.step()) flows_.emplace(state_.session(), state_.step());
    return *flows_;
}

int TimelineView::heightOfAll() const {
    return kRulerHeight + rows_.contentHeight() + (height() - viewport()->height());
}

void TimelineView::draw(QPainter& painter) {
    if (!state_.session()) {
        painter.fillRect(viewport()->rect(), themes_.theme().timeline);
        return;
    }
    // Exported files show everything.
    const bool bubble = state_.selection().kind == ItemKind::Bubble && state_.selection().step == state_.step();
    if ((bubble || state_.shows(FlowOverlay::CriticalPath)) && state_.session()->lacksDiagnosis(state_.step())) {
        (void)state_.session()->diagnosis(state_.step());
        flows_.reset();
    }
    drawBase(painter, Part::Scrolled, nullptr);
    drawOverlay(painter, Part::Scrolled, {});
    if (!pinsCover()) return;
    drawBase(painter, Part::Pinned, nullptr);
    drawOverlay(painter, Part::Pinned, {});
}

void TimelineView::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    if (!state_.session()) {
        painter.fillRect(viewport()->rect(), themes_.theme().timeline);
        return;
    }
    const bool whole = event->region() == QRegion(viewport()->rect());
    showBase(painter, Part::Scrolled, whole, base_);
    drawOverlay(painter, Part::Scrolled, hover_);
    if (pinsCover()) {
        showBase(painter, Part::Pinned, whole, pinned_);
        drawOverlay(painter, Part::Pinned, hover_);
    }
    if (std::exchange(drawn_version_, version_) != version_) columns_.endFrame();
    paintFocus(painter);
}

} // namespace bubblescope::gui
