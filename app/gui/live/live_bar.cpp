#include "app/gui/live/live_bar.h"

#include "app/gui/language/text.h"
#include "app/gui/live/live_models.h"
#include "app/gui/live/run_process.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/theme/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

namespace bubblescope::gui {

namespace {

constexpr int kLamp = 12;
constexpr int kMinAlertWidth = 60; ///< pixels

/// Draws a lamp that shows with shape and colour if the run is being recorded.
void drawLamp(QPainter& painter, const QRectF& where, LiveState state, const Theme& theme) {
    painter.setRenderHint(QPainter::Antialiasing);
    const QColor bad = severityColour(theme, Severity::Serious);
    switch (state) {
    case LiveState::Recording:
        painter.setPen(Qt::NoPen);
        painter.setBrush(bad);
        painter.drawEllipse(where);
        break;
    case LiveState::Waiting:
        painter.setPen(QPen(theme.text_dim, 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(where);
        break;
    case LiveState::Failed:
        painter.setPen(QPen(bad, 2));
        painter.drawLine(where.topLeft(), where.bottomRight());
        painter.drawLine(where.topRight(), where.bottomLeft());
        break;
    case LiveState::Ended:
    case LiveState::Stopped:
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.text_dim);
        painter.drawRect(where.adjusted(1, 1, -1, -1));
        break;
    }
}

} // namespace

LiveBar::LiveBar(LiveController& live, RunProcess& process, ViewState& state, ThemeManager& themes, QWidget* parent)
    : QFrame(parent), live_(live), process_(process), state_(state), themes_(themes), lamp_(new QWidget(this)),
      status_(new QLabel(this)), name_(new QLabel(this)), ranks_(new QLabel(this)), records_(new QLabel(this)),
      alert_(new QLabel(this)) {
    setObjectName(QStringLiteral("liveBar"));
    setAccessibleName(tr("Watched run"));
    lamp_->setFixedSize(kLamp, kLamp);
    QFont bold = font();
    bold.setBold(true);
    status_->setFont(bold);
    status_->setObjectName(QStringLiteral("liveStatus"));
    name_->setTextFormat(Qt::PlainText);
    // The only text of variable length. It uses the remaining space and never widens the window.
    alert_->setObjectName(QStringLiteral("liveAlert"));
    alert_->setTextFormat(Qt::PlainText);
    alert_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    alert_->setMinimumWidth(kMinAlertWidth);
    alert_->setCursor(Qt::PointingHandCursor);
    alert_->installEventFilter(this);
    follow_ = addButton("liveFollow", {}, tr("Keep the newest step on the right; moving the view turns this off"));
    follow_->setCheckable(true);
    open_ = addButton("liveOpen", tr("Open recording"), tr("Open everything recorded so far as a trace"));
    stop_run_ = addButton("liveStopRun", {}, tr("The run ends after the current step"));
    stop_ = addButton("liveStop", tr("Stop watching"), tr("Received data stays visible; the run continues"));

    auto* row = spaced(new QHBoxLayout(this), {12, 4, 8, 4}, 10);
    addAll(*row, {lamp_, status_, name_});
    for (QLabel* label : {ranks_, records_}) {
        row->addSpacing(6);
        row->addWidget(label);
    }
    row->addSpacing(6);
    row->addWidget(alert_, 1);
    for (QToolButton* button : {follow_, open_, stop_run_, stop_})
        row->addWidget(button);

    connect(follow_, &QToolButton::clicked, &live_, &LiveController::setFollowing);
    connect(open_, &QToolButton::clicked, this, &LiveBar::openRequested);
    connect(stop_, &QToolButton::clicked, &live_, &LiveController::stop);
    connect(stop_run_, &QToolButton::clicked, &process_, &RunProcess::stop);
    connect(&process_, &RunProcess::changed, this, &LiveBar::refresh);
    connect(&live_, &LiveController::changed, this, &LiveBar::refresh);
    connect(&live_, &LiveController::activeChanged, this, &LiveBar::refresh);
    connect(&live_, &LiveController::followingChanged, this, &LiveBar::refresh);
    connect(&live_, &LiveController::parkedChanged, this, &LiveBar::refresh);
    connect(&state_, &ViewState::sessionChanged, this, &LiveBar::refreshFollow);
    connect(&themes_, &ThemeManager::changed, this, &LiveBar::applyTheme);
    applyTheme();
    refresh();
}

QToolButton* LiveBar::addButton(const char* name, const QString& text, const QString& tip) {
    auto* button = named(new QToolButton(this), name);
    button->setText(text);
    button->setToolTip(tip);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

bool LiveBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::MouseButtonRelease) emit alertChosen();
    if (event->type() == QEvent::Resize) elideAlert();
    return QFrame::eventFilter(watched, event);
}

void LiveBar::elideAlert() {
    alert_->setText(alert_->fontMetrics().elidedText(message_, Qt::ElideRight, alert_->width()));
}

void LiveBar::refresh() {
    const LiveSnapshotPtr& snapshot = live_.snapshot();
    const bool any = snapshot && snapshot->info;
    setVisible(!live_.parked() && (live_.active() || any));
    const LiveState state = liveState(snapshot.get(), live_.active());
    setSteadyText(*status_, liveStateText(state));
    name_->setText(live_.target().name());
    name_->setToolTip(live_.target().folders.join(QLatin1Char('\n')));
    setSteadyText(*ranks_, any ? ranksText(*snapshot) : QString());
    setSteadyText(*records_, any ? recordsText(*snapshot) : QString());
    records_->setToolTip(snapshot ? recordsDetails(*snapshot) : QString());
    const bool lost = any && lostRecords(snapshot->counts) > 0;
    const Theme& theme = themes_.theme();
    records_->setPalette(theme.withText(lost ? severityColour(theme, Severity::Warning) : theme.text_dim));
    // The alert about the run or, if there is none, the one about its recording.
    const LiveAlert* const worst = snapshot ? worstOpen(*snapshot) : nullptr;
    message_ = worst != nullptr                          ? alertText(*worst, *snapshot)
               : snapshot && !snapshot->problems.empty() ? translatedText(snapshot->problems.front())
               : !any && live_.active()                  ? tr("Nothing recorded yet")
                                                         : QString();
    alert_->setToolTip(message_);
    elideAlert();
    refreshFollow();
    stop_->setVisible(live_.active());
    open_->setVisible(any && !recordedFolders(live_.target(), *snapshot).isEmpty());
    stop_run_->setVisible(process_.running());
    stop_run_->setText(process_.stopping() ? tr("Stop at once") : tr("Stop the run"));
    lamp_->setToolTip(status_->text());
    update();
}

void LiveBar::refreshFollow() {
    follow_->setVisible(live_.active());
    follow_->setChecked(live_.following());
    const auto behind = live_.following() ? 0 : live_.stepsBehind();
    follow_->setText(behind > 0 ? tr("Follow (%1 new steps)").arg(behind) : tr("Follow"));
}

QString LiveBar::text() const {
    QStringList parts;
    for (const QString& part :
         {status_->text(), name_->text(), ranks_->text(), records_->text(), message_, follow_->text()}) {
        if (!part.isEmpty()) parts << part;
    }
    return parts.join(QStringLiteral(" | "));
}

void LiveBar::paintEvent(QPaintEvent* event) {
    QFrame::paintEvent(event);
    QPainter painter(this);
    painter.fillRect(rect(), themes_.theme().header);
    drawLamp(painter, QRectF(lamp_->geometry()).adjusted(1, 1, -1, -1),
             liveState(live_.snapshot().get(), live_.active()), themes_.theme());
    painter.fillRect(0, height() - 1, width(), 1, themes_.theme().line);
}

void LiveBar::applyTheme() {
    const Theme& theme = themes_.theme();
    for (QLabel* label : {name_, ranks_})
        label->setPalette(theme.withText(theme.text_dim));
    alert_->setPalette(theme.withText(theme.bad));
    refresh();
}

} // namespace bubblescope::gui
