#include "app/gui/panels/welcome_panel.h"

#include "app/gui/models/recent_files.h"
#include "app/gui/panels/widgets.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLayoutItem>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QVBoxLayout>

namespace bubblescope::gui {

namespace {

constexpr int kCardWidth = 260;
constexpr int kCardPadding = 12;
constexpr int kCardGap = 6; ///< between title and description
constexpr int kCardRadius = 6;
constexpr int kUnlimited = 4096;

} // namespace

DemoCard::DemoCard(const DemoTrace& demo, QWidget* parent)
    : QAbstractButton(parent), description_(demoDescription(demo)) {
    setObjectName(QStringLiteral("demo-") + demoName(demo));
    setText(demoTitle(demo));
    setAccessibleDescription(description_);
    setCursor(Qt::PointingHandCursor);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_Hover);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Minimum);
}

QFont DemoCard::titleFont() const {
    QFont bold = font();
    bold.setBold(true);
    return bold;
}

QRect DemoCard::descriptionRect(const QRect& card) const {
    const int title = QFontMetrics(titleFont()).height();
    return card.adjusted(kCardPadding, kCardPadding + title + kCardGap, -kCardPadding, -kCardPadding);
}

QSize DemoCard::sizeHint() const {
    const QRect room = descriptionRect(QRect(0, 0, kCardWidth, kUnlimited));
    const int description = fontMetrics().boundingRect(room, Qt::TextWordWrap, description_).height();
    return {kCardWidth, room.top() + description + kCardPadding};
}

void DemoCard::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QPainterPath border;
    border.addRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kCardRadius, kCardRadius);
    painter.fillPath(border, palette().color(isDown() ? QPalette::Midlight : QPalette::Base));
    const bool marked = hasFocus() || underMouse();
    painter.setPen(QPen(palette().color(marked ? QPalette::Highlight : QPalette::Mid), hasFocus() ? 2 : 1));
    painter.drawPath(border);
    painter.setPen(palette().color(QPalette::Link));
    painter.setFont(titleFont());
    const QRect title = rect().adjusted(kCardPadding, kCardPadding, -kCardPadding, 0);
    painter.drawText(title, Qt::AlignTop | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(text(), Qt::ElideRight, title.width()));
    painter.setPen(palette().color(QPalette::Text));
    painter.setFont(font());
    painter.drawText(descriptionRect(rect()), Qt::TextWordWrap, description_);
}

WelcomePanel::WelcomePanel(QWidget* parent)
    : QScrollArea(parent), page_(new QWidget(this)), recent_title_(new QLabel(tr("Recently opened"), page_)),
      recent_(new QVBoxLayout), files_(new QPushButton(tr("Open files…"), page_)) {
    setObjectName(QStringLiteral("welcomePanel"));
    auto* title = new QLabel(tr("Drop a trace here"), page_);
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.8);
    title->setFont(large);
    auto* hint = new QLabel(tr("Traces of PyTorch, Megatron, DeepSpeed, Paddle, Nsight Systems, Perfetto or "
                               "Bubblescope, or in Chrome's JSON format, or a directory of them."),
                            page_);
    auto* demos = new QLabel(tr("No trace yet? Open a demo:"), page_);
    auto* first_steps = new QPushButton(tr("Read the first steps"), page_);
    first_steps->setObjectName(QStringLiteral("welcomeFirstSteps"));
    first_steps->setMinimumSize(200, 30);
    connect(first_steps, &QPushButton::clicked, this, &WelcomePanel::firstStepsRequested);
    recent_->setSpacing(2);

    auto* column = spaced(new QVBoxLayout(page_), {24, 12, 24, 12}, 12);
    column->addStretch(2);
    column->addWidget(title, 0, Qt::AlignHCenter);
    column->addWidget(hint, 0, Qt::AlignHCenter);
    column->addSpacing(4);
    column->addLayout(makeButtons());
    column->addSpacing(20);
    // Recent files come first for returning users.
    column->addWidget(recent_title_, 0, Qt::AlignHCenter);
    column->addLayout(recent_);
    column->addWidget(demos, 0, Qt::AlignHCenter);
    column->addLayout(makeDemos());
    column->addWidget(first_steps, 0, Qt::AlignHCenter);
    column->addStretch(3);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setWidgetResizable(true);
    setWidget(page_);
    setRecent({});
    files_->setDefault(true);
}

QHBoxLayout* WelcomePanel::makeButtons() {
    auto* directory = new QPushButton(tr("Open directory…"), page_);
    auto* watch = new QPushButton(tr("Watch a run…"), page_);
    auto* run = new QPushButton(tr("Run a schedule…"), page_);
    connect(files_, &QPushButton::clicked, this, &WelcomePanel::openFilesRequested);
    connect(directory, &QPushButton::clicked, this, &WelcomePanel::openDirectoryRequested);
    connect(watch, &QPushButton::clicked, this, &WelcomePanel::watchRequested);
    connect(run, &QPushButton::clicked, this, &WelcomePanel::runRequested);
    auto* row = new QHBoxLayout;
    row->addStretch(1);
    for (QPushButton* button : {files_, directory, watch, run}) {
        button->setMinimumSize(130, 30);
        row->addWidget(button);
    }
    row->addStretch(1);
    return row;
}

QHBoxLayout* WelcomePanel::makeDemos() {
    auto* row = new QHBoxLayout;
    row->setSpacing(12);
    row->addStretch(1);
    for (const DemoTrace& demo : demoTraces()) {
        auto* card = new DemoCard(demo, page_);
        const QString name = demoName(demo);
        connect(card, &QAbstractButton::clicked, this, [this, name] { emit demoChosen(name); });
        row->addWidget(card);
    }
    row->addStretch(1);
    return row;
}

void WelcomePanel::setRecent(const QList<QStringList>& recent) {
    while (QLayoutItem* item = recent_->takeAt(0)) {
        // Not deleted immediately, because a click on this button may have caused this call.
        item->widget()->deleteLater();
        delete item;
    }
    recent_title_->setVisible(!recent.isEmpty());
    for (const QStringList& paths : recent) {
        auto* button = new QPushButton(recentText(paths), page_);
        button->setFlat(true);
        button->setToolTip(paths.join(QLatin1Char('\n')));
        connect(button, &QPushButton::clicked, this, [this, paths] { emit recentChosen(paths); });
        recent_->addWidget(button, 0, Qt::AlignHCenter);
    }
}

} // namespace bubblescope::gui
