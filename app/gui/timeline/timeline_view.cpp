#include "app/gui/timeline/timeline_view.h"

#include "app/gui/models/item_text.h"
#include "app/gui/models/navigation.h"
#include "app/gui/models/notes_model.h"
#include "app/gui/models/range_stats.h"
#include "app/gui/timeline/counter_geometry.h"
#include "app/gui/timeline/note_flags.h"
#include "app/gui/timeline/timeline_accessible.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTextDocument>
#include <QToolTip>

#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr double kKeyZoom = 0.8;     ///< per key press
constexpr double kKeyPan = 0.1;      ///< of the view
constexpr double kWheelZoom = 0.85;  ///< per notch
constexpr double kWheelNotch = 120;  ///< Qt's eighths of a degree
constexpr double kSnapReach = 8;     ///< pixels within which an edge is meant
constexpr double kGhostStep = 0.1;   ///< of the way between observed and ideal
constexpr int kLeastScroll = 12;     ///< pixels for a notch of the wheel over the names
constexpr int kGesturePauseMs = 600; ///< wheel moves closer than this are one entry of the zoom history

QString toolTipText(const Session& session, const ItemRef& item) {
    const ItemDescription text = describe(session, item);
    QString html = QStringLiteral("<b>%1</b><table cellspacing='0'>").arg(text.title.toHtmlEscaped());
    for (const Fact& fact : text.facts)
        html += QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td align='right'>%2</td></tr>")
                    .arg(fact.name.toHtmlEscaped(), fact.value.toHtmlEscaped());
    html += QStringLiteral("</table>");
    if (!text.note.isEmpty()) html += QStringLiteral("<p>%1</p>").arg(text.note.toHtmlEscaped());
    return html;
}

} // namespace

TimelineView::TimelineView(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QAbstractScrollArea(parent), state_(state), themes_(themes) {
    installTimelineAccess(*this); // before a name is announced, which makes the interface
    setObjectName(QStringLiteral("timeline"));
    setAccessibleName(tr("Timeline"));
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    viewport()->setMouseTracking(true);
    gesture_end_.setSingleShot(true);
    gesture_end_.setInterval(kGesturePauseMs);

    connect(&gesture_end_, &QTimer::timeout, &state_.range(), &VisibleRange::endGesture);
    connect(&state_, &ViewState::sessionChanged, this, [this] {
        hover_ = {};
        unfolded_.clear();
        row_height_ = 0;
        trails_.reset();
        columns_.clear();
        counters_.reset();
        counter_job_.cancel();
        showCounters(counters_on_);
    });
    connect(&state_, &ViewState::stepChanged, this, &TimelineView::invalidate);
    connect(&state_.range(), &VisibleRange::changed, this, &TimelineView::invalidate);
    connect(&state_, &ViewState::selectionChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&state_, &ViewState::selectionChanged, this, [this] { announceSelection(*this); });
    connect(&state_, &ViewState::highlightsChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&state_, &ViewState::trailsChanged, this, &TimelineView::invalidate);
    connect(&state_, &ViewState::measuredChanged, viewport(), qOverload<>(&QWidget::update));
    connect(&state_, &ViewState::ghostChanged, this, &TimelineView::relayout);
    connect(&state_, &ViewState::ghostMoved, this, &TimelineView::invalidate);
    connect(&state_, &ViewState::rankRequested, this, &TimelineView::showRank);
    connect(&themes_, &ThemeManager::changed, this, &TimelineView::invalidate);
}

void TimelineView::setNotebook(Notebook* notebook) {
    notebook_ = notebook;
    connect(notebook_, &Notebook::changed, viewport(), qOverload<>(&QWidget::update));
    connect(notebook_, &Notebook::currentChanged, viewport(), qOverload<>(&QWidget::update));
}

QSize TimelineView::sizeHint() const {
    return {900, 420};
}

QSize TimelineView::minimumSizeHint() const {
    return {kHeaderWidth + 200, kRulerHeight + 80};
}

QRect TimelineView::plot() const {
    return {kHeaderWidth, kRulerHeight, std::max(1, viewport()->width() - kHeaderWidth),
            std::max(1, viewport()->height() - kRulerHeight)};
}

std::pair<int, int> TimelineView::rowsInSight() const {
    const int top = verticalScrollBar()->value();
    const int first = rows_.rowAt(top);
    if (first < 0) return {0, 0};
    const int last = rows_.rowAt(top + plot().height() - 1);
    return {first, last < 0 ? rows_.rowCount() : last + 1};
}

QRect TimelineView::rowRect(int row) const {
    if (row < 0 || row >= rows_.rowCount()) return {};
    const QRect whole(0, kRulerHeight + rows_.rowTop(row) - verticalScrollBar()->value(), viewport()->width(),
                      rows_.heightOf(row));
    return whole & QRect(0, kRulerHeight, viewport()->width(), plot().height());
}

TimeScale TimelineView::scale() const {
    return {state_.range().range(), static_cast<double>(plot().width())};
}

GeometryInput TimelineView::geometry() const {
    return {*state_.session(),
            scale(),
            rows_,
            verticalScrollBar()->value(),
            plot().height(),
            devicePixelRatioF(),
            [this](const QString& text) { return textSize(text); }};
}

QSizeF TimelineView::textSize(const QString& text) const {
    const auto known = text_sizes_.constFind(text);
    if (known != text_sizes_.constEnd()) return *known;
    // Panning through a long trace meets ever new durations; what is on the screen fits many times over.
    constexpr qsizetype kMostCached = 20000;
    if (text_sizes_.size() > kMostCached) text_sizes_.clear();
    return *text_sizes_.insert(text, QFontMetricsF(font()).size(0, text));
}

RowExtras TimelineView::extras() const {
    RowExtras extras;
    extras.height = row_height_;
    extras.ghost = state_.ghost() != nullptr;
    for (int rank = 0; rank < static_cast<int>(state_.session()->lanes.rankCount()); ++rank)
        extras.raw_lanes.push_back(unfolded(rank) ? static_cast<int>(state_.session()->raw.of(rank).size()) : 0);
    for (int rank = 0; counters_on_ && counters_ && rank < static_cast<int>(extras.raw_lanes.size()); ++rank)
        extras.counters.push_back(static_cast<int>(counters_->of(rank).size()));
    return extras;
}

void TimelineView::showCounters(bool on) {
    counters_on_ = on;
    if (on && !counters_ && state_.session()) {
        counter_job_.start(
            [session = state_.session()](JobControl& control) { return CounterLanes::build(session, control); },
            [this](Result<std::shared_ptr<const CounterLanes>> made) {
                if (!made.ok()) return;
                counters_ = std::move(made).value();
                relayout();
            });
    }
    relayout();
}

void TimelineView::setUnfolded(int rank, bool unfolded) {
    if (unfolded) {
        unfolded_.insert(rank);
    } else {
        unfolded_.remove(rank);
    }
    relayout();
}

void TimelineView::setRowHeight(int height) {
    // What was in the middle stays there.
    const int middle = verticalScrollBar()->value() + plot().height() / 2;
    const int row = rows_.rowAt(middle);
    row_height_ = height;
    relayout();
    if (row >= 0) verticalScrollBar()->setValue(rows_.rowTop(row) + rows_.heightOf(row) / 2 - plot().height() / 2);
}

void TimelineView::unfold(bool all) {
    const Session& session = *state_.session();
    const int ranks = rows_.rowCount();
    if (!all) {
        const int rank =
            state_.selection() ? state_.selection().rank : std::max(0, rows_.rowAt(verticalScrollBar()->value()));
        setUnfolded(rank, !unfolded(rank));
        return;
    }
    const bool open = unfolded_.isEmpty();
    unfolded_.clear();
    for (int rank = 0; open && rank < ranks; ++rank) {
        if (!session.raw.of(rank).empty()) unfolded_.insert(rank);
    }
    relayout();
}

bool TimelineView::foldAt(const QPointF& position) {
    if (position.x() >= kHeaderWidth || position.y() < kRulerHeight) return false;
    const int row = rows_.rowAt(static_cast<int>(position.y()) - kRulerHeight + verticalScrollBar()->value());
    if (row < 0 || state_.session()->raw.of(row).empty()) return false;
    setUnfolded(row, !unfolded(row));
    return true;
}

void TimelineView::relayout() {
    rows_ = state_.session() ? RowLayout(state_.session()->lanes, plot().height(), extras()) : RowLayout();
    verticalScrollBar()->setRange(0, std::max(0, rows_.contentHeight() - plot().height()));
    verticalScrollBar()->setPageStep(plot().height());
    verticalScrollBar()->setSingleStep(std::max(kLeastScroll, rows_.rowHeight() / 2));
    invalidate();
}

void TimelineView::invalidate() {
    base_valid_ = false;
    viewport()->update();
}

void TimelineView::resizeEvent(QResizeEvent*) {
    relayout();
}

void TimelineView::scrollContentsBy(int, int) {
    invalidate();
}

void TimelineView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange) {
        text_sizes_.clear();
        relayout();
    }
    QAbstractScrollArea::changeEvent(event);
}

ItemRef TimelineView::itemAt(const QPointF& position) const {
    const QRect area = plot();
    if (!state_.session() || !area.contains(position.toPoint())) return {};
    const QPointF place = position - area.topLeft();
    const ItemRef item = hitTest(*state_.session(), scale(), rows_, verticalScrollBar()->value(), place.x(), place.y());
    return item ? item : rawHitTest(geometry(), place.x(), place.y());
}

QPointF TimelineView::centreOf(const ItemRef& item) const {
    if (!state_.session()) return {};
    return itemRect(geometry(), item).center() + plot().topLeft();
}

void TimelineView::setHover(const ItemRef& item) {
    if (item == hover_) return;
    hover_ = item;
    viewport()->update();
    emit hovered(item);
}

bool TimelineView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) setHover({});
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString text = toolTipAt(help->pos());
        if (text.isEmpty()) {
            QToolTip::hideText();
        } else {
            QToolTip::showText(help->globalPos(), text, viewport());
        }
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

QString TimelineView::toolTipAt(const QPointF& position) const {
    if (!state_.session()) return {};
    if (const int note = noteUnder(position); note >= 0) {
        const QString text = noteSummary(*state_.session(), notebook_->notes()[static_cast<std::size_t>(note)]);
        return Qt::convertFromPlainText(text);
    }
    const QPointF place = position - plot().topLeft();
    if (const auto counter = counters_ ? counterAt(geometry(), *counters_, place.x(), place.y()) : std::nullopt;
        counter && plot().contains(position.toPoint()))
        return Qt::convertFromPlainText(
            QStringLiteral("%1: %2").arg(counter->lane->name, counterText(counter->lane->at(counter->time))));
    const ItemRef item = itemAt(position);
    return item ? toolTipText(*state_.session(), item) : QString();
}

int TimelineView::noteUnder(const QPointF& position) const {
    const bool ruler = position.y() >= kStepBandHeight && position.y() < kRulerHeight && position.x() >= kHeaderWidth;
    if (notebook_ == nullptr || !state_.session() || !ruler) return -1;
    return noteAt(buildNoteFlags(notebook_->notes(), scale()), position.x() - kHeaderWidth);
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !state_.session()) return;
    pressed_ = true;
    dragging_ = false;
    press_position_ = drag_position_ = event->position();
    measure_from_.reset();
    if (!event->modifiers().testFlag(Qt::ShiftModifier) || !plot().contains(press_position_.toPoint())) return;
    measure_from_ = snappedTime(press_position_);
}

TimeNs TimelineView::snappedTime(const QPointF& position) const {
    const TimeNs time = scale().time(std::clamp<double>(position.x() - kHeaderWidth, 0, plot().width()));
    const int row = rows_.rowAt(static_cast<int>(position.y()) - kRulerHeight + verticalScrollBar()->value());
    return snapped(*state_.session(), row, time, scale().perPixel(kSnapReach));
}

void TimelineView::measureTo(const QPointF& position) {
    const TimeNs to = snappedTime(position);
    state_.measure({std::min(*measure_from_, to), std::max(*measure_from_, to)});
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    if (!pressed_) {
        setHover(itemAt(event->position()));
        return;
    }
    if (!dragging_) {
        const double moved = (event->position() - press_position_).manhattanLength();
        if (moved < QApplication::startDragDistance()) return;
        dragging_ = true;
        QToolTip::hideText();
        viewport()->setCursor(measure_from_ ? Qt::SplitHCursor : Qt::ClosedHandCursor);
    }
    if (measure_from_) return measureTo(event->position());
    const QPointF delta = event->position() - drag_position_;
    drag_position_ = event->position();
    state_.range().panBy(-delta.x() / plot().width());
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(std::lround(delta.y())));
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !pressed_) return;
    pressed_ = false;
    if (dragging_) {
        dragging_ = false;
        viewport()->unsetCursor();
        state_.range().endGesture();
        return;
    }
    if (const int note = noteUnder(event->position()); note >= 0) return notebook_->goTo(note);
    if (!selectStepAt(event->position()) && !foldAt(event->position())) state_.select(itemAt(event->position()));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) state_.zoomTo(itemAt(event->position()));
}

bool TimelineView::selectStepAt(const QPointF& position) {
    if (position.y() >= kStepBandHeight || position.x() < kHeaderWidth) return false;
    const TimeNs time = scale().time(position.x() - kHeaderWidth);
    for (int step = 0; step < state_.session()->stepCount(); ++step) {
        if (!state_.session()->window(step).contains(time)) continue;
        state_.showStep(step);
        return true;
    }
    return false;
}

void TimelineView::wheelEvent(QWheelEvent* event) {
    event->accept();
    const QPoint angle = event->angleDelta();
    const double x = event->position().x() - kHeaderWidth;
    const bool sideways = event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(angle.x()) > std::abs(angle.y());
    if (sideways) {
        const int delta = angle.x() != 0 ? angle.x() : angle.y();
        state_.range().panBy(-delta / kWheelNotch * kKeyPan);
    } else if (x < 0) {
        // Over the rank names the wheel scrolls ranks, as there is no time to zoom at.
        const auto lines = static_cast<int>(std::lround(angle.y() / kWheelNotch * verticalScrollBar()->singleStep()));
        verticalScrollBar()->setValue(verticalScrollBar()->value() - lines);
    } else {
        state_.range().zoomAt(x / plot().width(), std::pow(kWheelZoom, angle.y() / kWheelNotch));
    }
    gesture_end_.start();
    setHover(itemAt(event->position()));
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
    const CommandInfo* info = findCommand(*event);
    if (info == nullptr) {
        QAbstractScrollArea::keyPressEvent(event);
        return;
    }
    run(info->command);
}

void TimelineView::run(Command command) {
    if (!state_.session()) return;
    const Session& session = *state_.session();
    const ItemRef selection = state_.selection();
    switch (command) {
    case Command::ZoomIn: zoom(kKeyZoom); break;
    case Command::ZoomOut: zoom(1 / kKeyZoom); break;
    case Command::PanLeft: pan(-kKeyPan); break;
    case Command::PanRight: pan(kKeyPan); break;
    case Command::FitAll: state_.range().showAll(); break;
    case Command::FitStep: state_.showStep(state_.step()); break;
    case Command::Focus: focusSelection(); break;
    case Command::ZoomToSelection: state_.zoomTo(selection); break;
    case Command::PreviousZoom: state_.range().back(); break;
    case Command::NextOp:
        moveTo(selection ? neighbourOp(session, selection, 1)
                         : opNear(session, 0, session.window(state_.step()).begin));
        break;
    case Command::PreviousOp: moveTo(neighbourOp(session, selection, -1)); break;
    case Command::Consumer: moveTo(consumer(session, selection)); break;
    case Command::Producer: moveTo(producer(session, selection)); break;
    case Command::RankUp: changeRank(-1); break;
    case Command::RankDown: changeRank(1); break;
    case Command::NextStep: state_.showStep(state_.step() + 1); break;
    case Command::PreviousStep: state_.showStep(state_.step() - 1); break;
    case Command::Unfold: unfold(false); break;
    case Command::UnfoldAll: unfold(true); break;
    case Command::Counters: showCounters(!counters_on_); break;
    case Command::HigherRows: setRowHeight(rows_.otherHeight(1)); break;
    case Command::LowerRows: setRowHeight(rows_.otherHeight(-1)); break;
    case Command::FitRows: setRowHeight(0); break;
    case Command::Ideal: emit idealRequested(); break;
    case Command::GhostNearer: moveGhost(-kGhostStep); break;
    case Command::GhostFurther: moveGhost(kGhostStep); break;
    case Command::Transfers: toggle(Trail::Transfers); break;
    case Command::CriticalPath: toggle(Trail::CriticalPath); break;
    case Command::Microbatch: toggle(Trail::Microbatch); break;
    case Command::AddNote:
        if (notebook_ != nullptr) notebook_->addHere();
        break;
    case Command::NextNote:
        if (notebook_ != nullptr) notebook_->goToNext(1);
        break;
    case Command::PreviousNote:
        if (notebook_ != nullptr) notebook_->goToNext(-1);
        break;
    case Command::Search: emit searchRequested(); break;
    case Command::Clear:
        state_.select({});
        state_.highlight({}, {});
        state_.measure({});
        break;
    }
}

void TimelineView::zoom(double factor) {
    const QPointF cursor = viewport()->mapFromGlobal(QCursor::pos());
    const bool inside = viewport()->underMouse() && plot().contains(cursor.toPoint());
    state_.range().zoomAt(inside ? (cursor.x() - kHeaderWidth) / plot().width() : 0.5, factor);
    gesture_end_.start();
}

void TimelineView::pan(double share) {
    state_.range().panBy(share);
    gesture_end_.start();
}

void TimelineView::moveGhost(double by) {
    if (!state_.ghost()) return;
    // In whole steps, so that there and back again is where it began.
    state_.setGhostShare(std::round((state_.ghostShare() + by) / kGhostStep) * kGhostStep);
}

void TimelineView::focusSelection() {
    const ItemRef item = state_.selection();
    if (!item) return;
    const TimeRange range = state_.session()->range(item);
    const TimeRange now = state_.range().range();
    const TimeNs begin = range.begin + range.length() / 2 - now.length() / 2;
    state_.range().show({begin, begin + now.length()});
    emit state_.rankRequested(item.rank);
    // Already in the middle, or as close to it as the trace's ends allow: the second press fits.
    if (state_.range().range() == now) state_.zoomTo(item);
}

void TimelineView::moveTo(const ItemRef& item) {
    if (!item) return;
    state_.select(item);
    state_.reveal(item);
}

void TimelineView::changeRank(int direction) {
    const ItemRef from = state_.selection();
    const int ranks = rows_.rowCount();
    if (!from) {
        verticalScrollBar()->setValue(verticalScrollBar()->value() + direction * rows_.rowHeight());
        return;
    }
    const int rank = from.rank + direction;
    if (rank < 0 || rank >= ranks) return;
    const TimeRange range = state_.session()->range(from);
    moveTo(opNear(*state_.session(), rank, range.begin + range.length() / 2));
}

void TimelineView::showRank(int rank) {
    const int top = rows_.rowTop(rank);
    const int bottom = top + std::min(rows_.heightOf(rank), plot().height());
    QScrollBar* bar = verticalScrollBar();
    if (top < bar->value()) bar->setValue(top);
    if (bottom > bar->value() + plot().height()) bar->setValue(bottom - plot().height());
}

} // namespace bubblescope::gui
