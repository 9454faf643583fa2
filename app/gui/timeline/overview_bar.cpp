#include "app/gui/timeline/overview_bar.h"

#include "app/gui/theme/theme.h"
#include "app/gui/timeline/role_fills.h"
#include "app/gui/timeline/timeline_painter.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kHeight = 30;
constexpr double kStripMargin = 3;
constexpr double kGripReach = 4;
constexpr double kMinFrameWidth = 6; ///< minimum width, so that the frame can be grabbed

} // namespace

OverviewBar::OverviewBar(ViewState& state, ThemeManager& themes, QWidget* parent)
    : QWidget(parent), state_(state), themes_(themes) {
    setObjectName(QStringLiteral("overviewStrip"));
    setAccessibleName(tr("Overview of the run"));
    setToolTip(tr("Overview of the whole run: how busy the ranks are (hatched: idle within steps). Drag the frame to "
                  "move the view."));
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&state_, &ViewState::sessionChanged, this, qOverload<>(&QWidget::update));
    connect(&state_.range(), &VisibleRange::changed, this, qOverload<>(&QWidget::update));
    connect(&themes_, &ThemeManager::changed, this, qOverload<>(&QWidget::update));
}

QSize OverviewBar::sizeHint() const {
    return {400, kHeight};
}

QRectF OverviewBar::plot() const {
    return {static_cast<double>(kHeaderWidth), kStripMargin, std::max(1.0, width() - double{kHeaderWidth}),
            height() - 2 * kStripMargin};
}

double OverviewBar::x(TimeNs time) const {
    const TimeRange& all = state_.range().limits();
    const auto length = static_cast<double>(std::max<std::int64_t>(1, all.length().count()));
    return plot().left() + static_cast<double>((time - all.begin).count()) / length * plot().width();
}

TimeNs OverviewBar::time(double x) const {
    const TimeRange& all = state_.range().limits();
    const double fraction = (x - plot().left()) / plot().width();
    return all.begin + TimeNs{std::llround(fraction * static_cast<double>(all.length().count()))};
}

QRectF OverviewBar::frame() const {
    const TimeRange& range = state_.range().range();
    const double left = x(range.begin);
    const double width = std::max(kMinFrameWidth, x(range.end) - left);
    return {std::min(left, plot().right() - width), 0.5, width - 1, height() - 1.5};
}

OverviewBar::Grip OverviewBar::gripAt(double x) const {
    const QRectF box = frame();
    const double reach = std::min(kGripReach, box.width() / 4);
    if (std::abs(x - box.left()) <= reach) return Grip::Begin;
    if (std::abs(x - box.right()) <= reach) return Grip::End;
    return Grip::Move;
}

void OverviewBar::paintDensity(QPainter& painter) const {
    const Theme& theme = themes_.theme();
    const Overview& overview = state_.session()->overview;
    const auto length = static_cast<double>(std::max<std::int64_t>(1, overview.extent().length().count()));
    const QRectF area = plot();
    const QBrush hatch(hatchTile(theme, devicePixelRatioF()));
    const QColor busy = theme.fill(Role::Forward);
    for (int column = 0; column < static_cast<int>(area.width()); ++column) {
        const double left = area.left() + column;
        const auto part = [&](double at) {
            return static_cast<double>((time(at) - overview.extent().begin).count()) / length;
        };
        if (part(left + 1) <= 0 || part(left) >= 1) continue;
        const Overview::Bin piece = overview.mean(part(left), part(left + 1));
        const double high = std::round(static_cast<double>(piece.busy) * area.height());
        const double idle = std::round(static_cast<double>(piece.bubble) * area.height());
        painter.fillRect(QRectF(left, area.bottom() - high, 1, high), busy);
        painter.fillRect(QRectF(left, area.bottom() - high - idle, 1, idle), hatch);
    }
}

/// Small marks along the upper edge, with the most severe on top.
void OverviewBar::paintAnomalies(QPainter& painter) const {
    const Session& session = *state_.session();
    const auto& anomalies = session.report.anomalies;
    for (const Severity severity : {Severity::Notice, Severity::Warning, Severity::Serious}) {
        for (const Anomaly& anomaly : anomalies) {
            if (anomaly.severity != severity || (!anomaly.when && !anomaly.step)) continue;
            TimeNs at = anomaly.when ? anomaly.when->start : TimeNs::min();
            for (int step = 0; !anomaly.when && step < session.stepCount(); ++step) {
                if (session.step(step).index == *anomaly.step) at = session.window(step).begin;
            }
            if (at == TimeNs::min()) continue;
            painter.fillRect(QRectF(std::round(x(at)) - 1, 0, 3, 6), severityColour(themes_.theme(), severity));
        }
    }
}

void OverviewBar::paintEvent(QPaintEvent*) {
    const Theme& theme = themes_.theme();
    QPainter painter(this);
    painter.fillRect(rect(), theme.header);
    if (!state_.session()) return;
    painter.fillRect(plot(), theme.timeline);
    paintDensity(painter);
    const QRectF box = frame();
    QColor veil = theme.header;
    veil.setAlpha(150);
    painter.fillRect(QRectF(plot().left(), 0, std::max(0.0, box.left() - plot().left()), height()), veil);
    painter.fillRect(QRectF(box.right() + 1, 0, std::max(0.0, plot().right() - box.right()), height()), veil);
    paintAnomalies(painter);
    painter.setPen(theme.palette.color(QPalette::Highlight));
    painter.drawRect(box);
    painter.setPen(theme.text_dim);
    painter.drawText(QRectF(0, 0, kHeaderWidth - 8, height()), Qt::AlignRight | Qt::AlignVCenter, tr("whole run"));
    painter.fillRect(QRectF(0, height() - 1, width(), 1), theme.line);
}

void OverviewBar::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !state_.session()) return;
    const double at = event->position().x();
    grip_ = gripAt(at);
    moved_ = false;
    const TimeRange& range = state_.range().range();
    // A click outside of the frame centres the frame under the pointer, so that it can be dragged.
    if (grip_ == Grip::Move && !frame().adjusted(-1, 0, 1, 0).contains(at, height() / 2.0)) {
        const TimeNs begin = time(at) - range.length() / 2;
        state_.range().show({begin, begin + range.length()});
    }
    grabbed_ = time(at) - state_.range().range().begin;
}

void OverviewBar::mouseMoveEvent(QMouseEvent* event) {
    const double at = event->position().x();
    if (grip_ == Grip::None) {
        const Grip grip = state_.session() ? gripAt(at) : Grip::Move;
        setCursor(grip == Grip::Move ? Qt::ArrowCursor : Qt::SizeHorCursor);
        return;
    }
    const TimeRange range = state_.range().range();
    moved_ = true;
    switch (grip_) {
    case Grip::Move: {
        const TimeNs to = time(at) - grabbed_;
        const double fraction = fractionOf(to - range.begin, range.length());
        state_.range().panBy(fraction);
        break;
    }
    case Grip::Begin:
        if (time(at) < range.end) state_.range().zoomAt(1, fractionOf(range.end - time(at), range.length()));
        break;
    case Grip::End:
        if (time(at) > range.begin) state_.range().zoomAt(0, fractionOf(time(at) - range.begin, range.length()));
        break;
    case Grip::None: break;
    }
}

void OverviewBar::mouseReleaseEvent(QMouseEvent*) {
    grip_ = Grip::None;
    if (moved_) state_.range().endGesture();
}

} // namespace bubblescope::gui
