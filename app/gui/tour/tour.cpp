#include "app/gui/tour/tour.h"

#include "app/gui/language/language.h"
#include "app/gui/theme/theme.h"

#include <QAccessible>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QSettings>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

struct TourText {
    Q_DECLARE_TR_FUNCTIONS(TourSteps)
};

} // namespace

std::vector<TourStep> tourSteps() {
    const auto name = [](const char* text) { return QString::fromLatin1(text); };
    return {
        {name("timeline"), QString(), TourText::tr("A row for each rank"),
         TourText::tr(
             "Time runs to the right. Blue is forward, yellow is backward, and what is hatched is a bubble: the "
             "rank waits. The wheel zooms, dragging moves, a click selects.")},
        {name("summaryBar"), QString(), TourText::tr("What the step costs"),
         TourText::tr(
             "The bubble rate is the share of the step in which ranks wait. The figure in brackets is what the "
             "schedule's closed form allows. The largest loss is shown in red; a click leads there.")},
        {name("bubblesDock"), name("bubbles"), TourText::tr("Bubbles and their formulas"),
         TourText::tr("Every bubble by rank and position: observed, by the closed form, and the difference. "
                      "Select a row to see it on the timeline.")},
        {name("detailsDock"), QString(), TourText::tr("Why a rank waits"),
         TourText::tr("Click a bubble or an op on the timeline: its start and end appear here, what it waited "
                      "for and who is to blame.")},
        {name("anomaliesDock"), name("anomalies"), TourText::tr("What is wrong"),
         TourText::tr(
             "Findings, the most expensive first: slow stages, stragglers, slow links, flipped bits. Each states its "
             "cost per step, the evidence and what to do.")},
        {name("whatifDock"), name("whatif"), TourText::tr("What a change would save"),
         TourText::tr("Which changes save most, such as another split of the layers, and how long the step would take. "
                      "The result can be drawn below the observed step.")},
        {name("menuBar"), QString(), TourText::tr("Where to go from here"),
         TourText::tr(
             "File opens your own traces, compares two runs, watches one that is running, and exports pictures. The "
             "schedule lab is in View. F1 opens the manual, ? shows all keys, and Help repeats this tour.")},
    };
}

namespace {

constexpr int kSpotRadius = 6;
constexpr int kSpotLine = 2;
constexpr int kSpotDim = 90; ///< of 255: the rest of the window stays readable

} // namespace

TourSpotlight::TourSpotlight(QWidget* window) : QWidget(window) {
    setObjectName(QStringLiteral("tourSpotlight"));
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAttribute(Qt::WA_NoSystemBackground);
    setFocusPolicy(Qt::NoFocus);
}

void TourSpotlight::pointAt(const QRect& place, const QColor& frame) {
    place_ = place;
    frame_ = frame;
    update();
}

void TourSpotlight::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath dimmed;
    dimmed.addRect(rect());
    QPainterPath hole;
    hole.addRoundedRect(place_, kSpotRadius, kSpotRadius);
    painter.fillPath(dimmed.subtracted(hole), QColor(0, 0, 0, kSpotDim));
    if (place_.isEmpty()) return;
    painter.setPen(QPen(frame_, kSpotLine));
    painter.drawPath(hole);
}

namespace {

const QString kTourSeenKey = QStringLiteral("tour/seen");
constexpr int kTourWidth = 380;
constexpr int kTourGap = 12;   ///< between the target and the text box
constexpr int kTourAbove = 44; ///< the same above a panel, whose tab must stay visible
constexpr int kTourAround = 2; ///< margin of the spotlight around the target

/// The position of a box that does not hide `target`: below, above or beside it, or in its lower right corner if the
/// target fills the window.
QRect boxBeside(const QRect& target, const QSize& size, const QRect& window) {
    const QRect inner = window.adjusted(kTourGap, kTourGap, -kTourGap, -kTourGap);
    const int x = std::clamp(target.center().x() - size.width() / 2, inner.left(),
                             std::max(inner.left(), inner.right() - size.width()));
    const int y = std::clamp(target.center().y() - size.height() / 2, inner.top(),
                             std::max(inner.top(), inner.bottom() - size.height()));
    const QList<QPoint> places{{x, target.bottom() + kTourGap},
                               {x, target.top() - kTourAbove - size.height()},
                               {target.right() + kTourGap, y},
                               {target.left() - kTourGap - size.width(), y}};
    for (const QPoint& place : places) {
        if (inner.contains(QRect(place, size))) return {place, size};
    }
    return {inner.bottomRight() - QPoint(size.width(), size.height()), size};
}

} // namespace

Tour::Tour(TourPlace where, int at)
    : QFrame(&where.window), where_(std::move(where)), spotlight_(new TourSpotlight(&where_.window)),
      title_(new QLabel(this)), text_(new QLabel(this)), count_(new QLabel(this)), skip_(new QPushButton(this)),
      back_(new QPushButton(this)), next_(new QPushButton(this)) {
    setObjectName(QStringLiteral("tour"));
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    title_->setObjectName(QStringLiteral("tourTitle"));
    text_->setObjectName(QStringLiteral("tourText"));
    text_->setWordWrap(true);
    skip_->setObjectName(QStringLiteral("tourSkip"));
    back_->setObjectName(QStringLiteral("tourBack"));
    next_->setObjectName(QStringLiteral("tourNext"));
    QFont large = font();
    large.setBold(true);
    large.setPointSizeF(large.pointSizeF() * 1.15);
    title_->setFont(large);

    auto* buttons = new QHBoxLayout;
    buttons->addWidget(count_);
    buttons->addStretch(1);
    buttons->addWidget(skip_);
    buttons->addWidget(back_);
    buttons->addWidget(next_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 12, 16, 12);
    column->setSpacing(8);
    column->addWidget(title_);
    column->addWidget(text_);
    column->addLayout(buttons);

    connect(skip_, &QPushButton::clicked, this, &Tour::end);
    connect(back_, &QPushButton::clicked, this, [this] { show(step_ - 1); });
    connect(next_, &QPushButton::clicked, this, [this] { step_ + 1 < count() ? show(step_ + 1) : end(); });
    connect(&where_.themes, &ThemeManager::changed, this, &Tour::applyTheme);
    // The window's own connection is older, so it rebuilds its widgets first.
    connect(
        &where_.languages, &LanguageManager::changed, this, [this] { show(step_); }, Qt::QueuedConnection);
    where_.window.installEventFilter(this);
    applyTheme();
    spotlight_->show();
    QFrame::show();
    show(at);
}

Tour::~Tour() {
    delete spotlight_;
}

void Tour::end() {
    setSeen(true);
    emit ended();
    hide();
    spotlight_->hide();
    deleteLater();
}

QString Tour::title() const {
    return title_->text();
}

QString Tour::text() const {
    return text_->text();
}

bool Tour::seen() {
    return QSettings().value(kTourSeenKey, false).toBool();
}

void Tour::setSeen(bool seen) {
    QSettings().setValue(kTourSeenKey, seen);
}

/// Of several widgets of that name, the visible one.
QWidget* Tour::find(const QString& name) const {
    QWidget* found = nullptr;
    for (QWidget* widget : where_.window.findChildren<QWidget*>(name)) {
        if (found == nullptr || (!found->isVisible() && widget->isVisible())) found = widget;
    }
    return found;
}

void Tour::show(int step) {
    steps_ = tourSteps();
    step_ = std::clamp(step, 0, count() - 1);
    const TourStep& now = steps_[static_cast<std::size_t>(step_)];
    if (!now.panel.isEmpty()) where_.show_panel(now.panel);
    if (target_ != nullptr) target_->removeEventFilter(this);
    target_ = find(now.target);
    if (target_ != nullptr) target_->installEventFilter(this);
    say();
    place();
    placeLater(); // by then a panel that has just come to the front is laid out
    next_->setFocus();
}

void Tour::say() {
    const TourStep& now = steps_[static_cast<std::size_t>(step_)];
    title_->setText(now.title);
    text_->setText(now.text);
    count_->setText(tr("%1 of %2").arg(step_ + 1).arg(count()));
    skip_->setText(tr("Skip the tour"));
    back_->setText(tr("Back"));
    next_->setText(step_ + 1 < count() ? tr("Next") : tr("Done"));
    skip_->setVisible(step_ + 1 < count());
    back_->setEnabled(step_ > 0);
    // Screen readers announce the text with the button that has the focus.
    setAccessibleName(now.title);
    setAccessibleDescription(now.text);
    next_->setAccessibleName(QStringLiteral("%1. %2 %3").arg(now.title, now.text, next_->text()));
    QAccessibleEvent told(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&told);
}

void Tour::place() {
    spotlight_->setGeometry(where_.window.rect());
    QRect target;
    if (target_ != nullptr && target_->isVisible())
        target = QRect(target_->mapTo(&where_.window, QPoint()), target_->size())
                     .adjusted(-kTourAround, -kTourAround, kTourAround, kTourAround)
                     .intersected(where_.window.rect());
    spotlight_->pointAt(target, palette().color(QPalette::Highlight));
    const int width = std::min(kTourWidth, where_.window.width() - 2 * kTourGap);
    setFixedWidth(width);
    const QSize size(width, heightForWidth(width)); // margins of the layout and the frame
    setGeometry(boxBeside(target.isEmpty() ? where_.window.rect() : target, size, where_.window.rect()));
    spotlight_->raise();
    raise();
}

/// Queued until layouts have processed the change that caused it.
void Tour::placeLater() {
    if (due_) return;
    due_ = true;
    QTimer::singleShot(0, this, [this] {
        due_ = false;
        place();
    });
}

void Tour::applyTheme() {
    setPalette(where_.themes.theme().palette);
    place();
}

bool Tour::eventFilter(QObject* watched, QEvent* event) {
    switch (event->type()) {
    case QEvent::Resize:
    case QEvent::Move:
    case QEvent::Show:
    case QEvent::Hide:
    case QEvent::LayoutRequest: placeLater(); break;
    default: break;
    }
    return QFrame::eventFilter(watched, event);
}

void Tour::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Left: return show(step_ - 1);
    case Qt::Key_Right: return show(step_ + 1);
    default: QFrame::keyPressEvent(event);
    }
}

void TourLauncher::start(int step) {
    delete tour_;
    tour_ = new Tour(place_, step);
}

void TourLauncher::opened() {
    if (const std::optional<int> step = std::exchange(waiting_, std::nullopt)) start(*step);
}

} // namespace bubblescope::gui
