#include "app/gui/plain/plain_view.h"

#include "app/gui/language/text.h"
#include "app/gui/timeline/counters.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QTextDocument>

#include <algorithm>
#include <cmath>
#include <utility>

namespace bubblescope::gui {

PlainView::PlainView(ThemeManager& themes, QWidget* parent) : TimeView(themes, kNameWidth, kRuler, parent) {
    setObjectName(QStringLiteral("plainView"));
    setAccessibleName(tr("Trace"));
    setRange(range_);
}

void PlainView::setTrace(PlainTracePtr trace, const PlainSnapshot& snapshot) {
    trace_ = std::move(trace);
    if (std::exchange(drag_, Drag::None) != Drag::None) viewport()->unsetCursor();
    range_.endGesture();
    hover_ = selection_ = kNoId;
    selected_flows_.clear();
    area_ = {};
    marked_.clear();
    marked_names_.clear();
    folds_ = snapshot.folds;
    relayout();
    if (trace_) {
        range_.setLimits(padded(trace_->extent(), 0.01));
        if (snapshot.range.length() > TimeNs{0}) range_.reset(snapshot.range);
        verticalScrollBar()->setValue(snapshot.scroll);
        if (snapshot.selection != kNoId) select(snapshot.selection);
        area_ = snapshot.area;
    }
    invalidate();
    emit selectionChanged();
    emit areaChanged();
}

PlainSnapshot PlainView::snapshot() const {
    return {range_.range(), folds_, verticalScrollBar()->value(), selection_, area_};
}

QFont PlainView::labelFont() const {
    return smallFont(font());
}

PlainInput PlainView::input() const {
    return {*trace_,
            scale(),
            layout_,
            verticalScrollBar()->value(),
            plot().height(),
            devicePixelRatioF(),
            [this](const QString& text) { return textSize(text); }};
}

void PlainView::relayout() {
    layout_ = trace_ ? PlainLayout(*trace_, folds_) : PlainLayout();
    const int height = plot().height();
    verticalScrollBar()->setRange(0, std::max(0, layout_.contentHeight() - height));
    verticalScrollBar()->setPageStep(height);
    verticalScrollBar()->setSingleStep(3 * PlainLayout::kLevelHeight);
    invalidate();
}

void PlainView::setFolds(PlainFolds folds) {
    folds_ = std::move(folds);
    relayout();
}

// ---- Selecting -----------------------------------------------------------------------------------

void PlainView::select(SliceId slice) {
    if (slice == selection_) return;
    selection_ = slice;
    selected_flows_ = trace_ && slice != kNoId ? trace_->flowsOf(slice) : std::vector<PlainFlow>();
    viewport()->update();
    emit selectionChanged();
}

void PlainView::selectArea(const PlainArea& area) {
    if (area == area_) return;
    area_ = area;
    viewport()->update();
    emit areaChanged();
}

void PlainView::mark(std::vector<SliceId> slices) {
    if (slices == marked_) return;
    marked_ = std::move(slices);
    marked_names_.clear();
    if (trace_ && !marked_.empty()) {
        marked_names_.resize(trace_->trace().strings().size());
        for (const SliceId slice : marked_)
            marked_names_[trace_->trace().sliceNames()[slice]] = true;
    }
    invalidate();
}

void PlainView::showFlows(bool on) {
    all_flows_ = on;
    invalidate();
}

void PlainView::goTo(SliceId slice) {
    if (!trace_ || slice == kNoId) return;
    const int lane = trace_->laneOf(trace_->trace().sliceTracks()[slice]);
    if (lane < 0) return;
    PlainFolds folds = folds_;
    const int process = trace_->lanes()[static_cast<std::size_t>(lane)].process;
    if (folds.hasProcess(process)) folds.turnProcess(process);
    if (folds != folds_) setFolds(std::move(folds));
    select(slice);
    const TimeRange of{trace_->trace().start(slice), trace_->trace().end(slice)};
    const TimeRange now = range_.range();
    constexpr double kVisibleFrom = 4; // pixels
    const bool narrow = scale().x(of.end) - scale().x(of.begin) < kVisibleFrom;
    if (narrow || of.length() > now.length()) {
        zoomToSlice(slice);
    } else if (of.begin < now.begin || of.end > now.end) {
        const TimeNs begin = of.begin + of.length() / 2 - now.length() / 2;
        range_.show({begin, begin + now.length()});
    }
    const PlainRow& row = layout_.rows()[static_cast<std::size_t>(layout_.rowOf(lane))];
    QScrollBar* bar = verticalScrollBar();
    if (row.top < bar->value()) bar->setValue(row.top);
    if (row.top + row.height > bar->value() + plot().height()) bar->setValue(row.top + row.height - plot().height());
}

void PlainView::zoomToSlice(SliceId slice) {
    if (!trace_ || slice >= trace_->trace().sliceCount()) return;
    range_.show(padded({trace_->trace().start(slice), trace_->trace().end(slice)}, 1.0));
}

/// To the next slice at the same level of the track.
void PlainView::stepAlong(int direction) {
    if (selection_ == kNoId) return;
    const Track& track = trace_->trace().tracks()[trace_->trace().sliceTracks()[selection_]];
    if (direction < 0 && selection_ > track.first_slice) return goTo(selection_ - 1);
    if (direction > 0 && selection_ + 1 < track.end_slice) return goTo(selection_ + 1);
}

SliceId PlainView::flowEnd(bool forward) const {
    for (const PlainFlow& flow : selected_flows_) {
        const FlowPoint& here = forward ? flow.from : flow.to;
        const FlowPoint& there = forward ? flow.to : flow.from;
        if (here.slice == selection_ && there.slice != kNoId) return there.slice;
    }
    return kNoId;
}

bool PlainView::folded(int row) const {
    const PlainRow& at = layout_.rows()[static_cast<std::size_t>(row)];
    return at.header() ? folds_.hasProcess(at.process) : folds_.hasLane(at.lane);
}

void PlainView::turnFold(int row) {
    const PlainRow& at = layout_.rows()[static_cast<std::size_t>(row)];
    PlainFolds folds = folds_;
    if (at.header()) {
        folds.turnProcess(at.process);
    } else {
        folds.turnLane(at.lane);
    }
    setFolds(std::move(folds));
}

void PlainView::run(Command command) {
    if (!trace_ || runInTime(command)) return;
    switch (command) {
    case Command::FitStep: range_.showAll(); break;
    case Command::Focus:
        if (selection_ != kNoId) goTo(selection_);
        break;
    case Command::ZoomToSelection:
        if (!area_.empty()) {
            range_.show(padded(area_.range, 0.05));
        } else if (selection_ != kNoId) {
            zoomToSlice(selection_);
        }
        break;
    case Command::Undo: range_.back(); break;
    case Command::NextOp: stepAlong(1); break;
    case Command::PreviousOp: stepAlong(-1); break;
    case Command::Consumer: goTo(flowEnd(true)); break;
    case Command::Producer: goTo(flowEnd(false)); break;
    case Command::RankUp:
    case Command::RankDown:
        verticalScrollBar()->setValue(verticalScrollBar()->value() +
                                      (command == Command::RankUp ? -1 : 1) * verticalScrollBar()->singleStep());
        break;
    case Command::UnfoldAll: {
        PlainFolds folds;
        if (folds_.lanes.empty()) {
            for (int lane = 0; lane < static_cast<int>(trace_->lanes().size()); ++lane)
                folds.lanes.push_back(lane);
        }
        setFolds(std::move(folds));
        break;
    }
    case Command::Unfold:
        if (selection_ != kNoId) {
            PlainFolds folds = folds_;
            folds.turnLane(trace_->laneOf(trace_->trace().sliceTracks()[selection_]));
            setFolds(std::move(folds));
        }
        break;
    case Command::Transfers: showFlows(!all_flows_); break;
    case Command::Search: emit searchRequested(); break;
    case Command::Clear:
        select(kNoId);
        selectArea({});
        break;
    default: return;
    }
    endGestureSoon();
}

QPointF PlainView::centreOf(SliceId slice) const {
    if (!trace_) return {};
    const QRectF rect = plainRect(input(), slice) & QRectF(0, -1e6, plot().width(), 2e6);
    return rect.center() + plot().topLeft();
}

// ---- Input ---------------------------------------------------------------------------------------

int PlainView::rowUnder(const QPointF& position) const {
    if (!trace_ || position.y() < kRuler) return -1;
    return layout_.rowAt(static_cast<int>(std::floor(position.y())) - kRuler + verticalScrollBar()->value());
}

SliceId PlainView::sliceUnder(const QPointF& position) const {
    if (!trace_ || !plot().contains(position.toPoint())) return kNoId;
    return plainHit(input(), position.x() - kNameWidth, position.y() - kRuler);
}

QString PlainView::textUnder(const QPointF& position) const {
    const int at = rowUnder(position);
    if (at < 0) return {};
    const PlainRow& row = layout_.rows()[static_cast<std::size_t>(at)];
    if (row.header()) return trace_->processes()[static_cast<std::size_t>(row.process)].name;
    const PlainLane& lane = trace_->lanes()[static_cast<std::size_t>(row.lane)];
    if (position.x() < kNameWidth) return lane.name;
    const TimeNs time = scale().time(position.x() - kNameWidth);
    if (lane.isCounter()) {
        const CounterSeries& series = trace_->trace().counters()[lane.counter];
        const double value = CounterValues{series.times, series.values}.at(time);
        return QStringLiteral("%1: %2").arg(lane.name, counterText(value, lane.name));
    }
    const SliceId slice = sliceUnder(position);
    if (slice != kNoId) {
        const std::string_view name = trace_->trace().name(slice);
        const QString duration = exactTime(trace_->trace().end(slice) - trace_->trace().start(slice));
        return QStringLiteral("%1 · %2").arg(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())),
                                             trace_->trace().isOpen(slice) ? tr("%1 (never ended)").arg(duration)
                                                                           : duration);
    }
    const TimeNs reach = scale().perPixel(3);
    const auto instant = std::ranges::lower_bound(lane.instants, (time - reach).count());
    if (instant == lane.instants.end() || *instant > (time + reach).count()) return {};
    const Instant& found =
        trace_->trace().instants()[lane.instant_ids[static_cast<std::size_t>(instant - lane.instants.begin())]];
    const std::string_view name = trace_->trace().text(found.name);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

QString PlainView::toolTipAt(const QPointF& position) const {
    const QString text = textUnder(position);
    return text.isEmpty() ? text : Qt::convertFromPlainText(text);
}

void PlainView::pointerLeft() {
    hover_ = kNoId;
    viewport()->update();
    emit hovered({});
}

void PlainView::keyPressEvent(QKeyEvent* event) {
    if (const CommandInfo* info = findCommand(*event)) return run(info->command);
    TimeView::keyPressEvent(event);
}

void PlainView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !trace_) return;
    drag_ = Drag::Pressed;
    press_ = last_ = event->position();
    const bool on_ruler = press_.y() < kRuler && press_.x() >= kNameWidth;
    wants_area_ = on_ruler || (event->modifiers().testFlag(Qt::ShiftModifier) && plot().contains(press_.toPoint()));
}

void PlainView::dragAreaTo(const QPointF& position) {
    const auto time = [&](const QPointF& at) {
        return scale().time(std::clamp<double>(at.x() - kNameWidth, 0, plot().width()));
    };
    PlainArea area;
    area.range = {std::min(time(press_), time(position)), std::max(time(press_), time(position))};
    area.end_lane = static_cast<int>(trace_->lanes().size());
    if (press_.y() >= kRuler) {
        const int last_row = static_cast<int>(layout_.rows().size()) - 1;
        const auto row = [&](const QPointF& at) {
            const int found = layout_.rowAt(static_cast<int>(at.y()) - kRuler + verticalScrollBar()->value());
            return found >= 0 ? found : at.y() < kRuler ? 0 : last_row;
        };
        const auto [top, bottom] = std::minmax({row(press_), row(position)});
        const auto lanesOf = [&](int at) {
            const PlainRow& of = layout_.rows()[static_cast<std::size_t>(at)];
            const PlainProcess& process = trace_->processes()[static_cast<std::size_t>(of.process)];
            const bool folded = of.header() && folds_.hasProcess(of.process);
            if (of.header()) return std::pair(process.first_lane, folded ? process.end_lane : process.first_lane);
            return std::pair(of.lane, of.lane + 1);
        };
        area.first_lane = lanesOf(top).first;
        area.end_lane = lanesOf(bottom).second;
    }
    selectArea(area);
}

void PlainView::mouseMoveEvent(QMouseEvent* event) {
    if (drag_ == Drag::None) {
        const SliceId under = sliceUnder(event->position());
        if (under != hover_) {
            hover_ = under;
            viewport()->update();
        }
        emit hovered(textUnder(event->position()));
        return;
    }
    if (drag_ == Drag::Pressed) {
        if ((event->position() - press_).manhattanLength() < QApplication::startDragDistance()) return;
        drag_ = wants_area_ ? Drag::Area : Drag::Move;
        viewport()->setCursor(wants_area_ ? Qt::CrossCursor : Qt::ClosedHandCursor);
    }
    if (drag_ == Drag::Area) return dragAreaTo(event->position());
    drag(event->position() - std::exchange(last_, event->position()));
}

void PlainView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || drag_ == Drag::None) return;
    const Drag was = std::exchange(drag_, Drag::None);
    if (was != Drag::Pressed) {
        viewport()->unsetCursor();
        range_.endGesture();
        return;
    }
    const int at = rowUnder(event->position());
    if (at >= 0) {
        const bool header = layout_.rows()[static_cast<std::size_t>(at)].header();
        if (header || event->position().x() < kNameWidth) return turnFold(at);
    }
    select(sliceUnder(event->position()));
    if (event->position().y() >= kRuler) selectArea({});
}

void PlainView::mouseDoubleClickEvent(QMouseEvent* event) {
    const SliceId slice = sliceUnder(event->position());
    if (event->button() == Qt::LeftButton && slice != kNoId) zoomToSlice(slice);
}

/// The menu of the slice under the pointer, or of its row. The menu key asks for the selection's.
void PlainView::contextMenuEvent(QContextMenuEvent* event) {
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    const QPointF at = event->pos();
    if (const SliceId slice = by_key ? selection_ : sliceUnder(at); slice != kNoId) {
        select(slice);
        return emit menuRequested({slice},
                                  by_key ? viewport()->mapToGlobal(centreOf(slice).toPoint()) : event->globalPos());
    }
    const int row = by_key ? -1 : rowUnder(at);
    if (row < 0) return TimeView::contextMenuEvent(event);
    emit menuRequested({kNoId, row}, event->globalPos());
}

// ---- Painting ------------------------------------------------------------------------------------

PlainFrame PlainView::frame() const {
    return {themes_.theme(), input(), folds_, marked_, marked_names_, plot(), font(), all_flows_};
}

void PlainView::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    if (!trace_) {
        painter.fillRect(viewport()->rect(), themes_.theme().timeline);
        return;
    }
    const PlainFrame now = frame();
    base_.draw(painter, version_, viewport()->size(), devicePixelRatioF(),
               event->region() == QRegion(viewport()->rect()), [&](QImage& image) {
                   QPainter on_image(&image);
                   PlainPainter(on_image, now).paintBase(image, labels_);
               });
    PlainPainter(painter, now).paintOverlay({area_, selection_, hover_, selected_flows_});
    paintFocus(painter);
}

} // namespace bubblescope::gui
