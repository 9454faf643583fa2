#include "app/gui/panels/bars.h"

#include "app/gui/language/text.h"
#include "app/gui/panels/widgets.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QSignalBlocker>
#include <QSlider>
#include <QStringList>
#include <QStyle>
#include <QToolButton>

#include <cmath>

namespace bubblescope::gui {

namespace {

/// Core's messages start in lower case, because the command line puts a prefix before them.
QString asSentence(const std::string& message) {
    return sentence(translatedText(message));
}

} // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), what_(new QLabel(this)), details_(new QLabel(this)) {
    setObjectName(QStringLiteral("messageBar"));
    setFrameShape(QFrame::NoFrame);
    setAutoFillBackground(true);
    setVisible(false);

    auto* icon = new QLabel(this);
    icon->setPixmap(style()->standardIcon(QStyle::SP_MessageBoxWarning).pixmap(22, 22));
    auto* close = new QToolButton(this);
    close->setText(tr("Close"));
    close->setAutoRaise(true);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);

    QFont bold = font();
    bold.setBold(true);
    what_->setFont(bold);
    for (QLabel* label : {what_, details_}) {
        // File names and messages are not trusted, and are never interpreted as markup.
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }

    auto* texts = new QVBoxLayout;
    texts->setSpacing(2);
    addAll(*texts, {what_, details_});
    auto* row = spaced(new QHBoxLayout(this), {12, 8, 8, 8}, 12);
    row->addWidget(icon, 0, Qt::AlignTop);
    row->addLayout(texts, 1);
    row->addWidget(close, 0, Qt::AlignTop);
}

void MessageBar::showError(const Error& error) {
    QStringList details;
    if (!error.where.empty()) details << fromUtf8(error.where);
    if (!error.hint.empty()) details << asSentence(error.hint);
    put(asSentence(error.message), details);
}

void MessageBar::showInEnglish(const Error& error) {
    put(sentence(fromUtf8(error.message)), {sentence(fromUtf8(error.hint))});
}

void MessageBar::put(const QString& what, const QStringList& details) {
    what_->setText(what);
    details_->setText(details.join(QLatin1Char('\n')));
    details_->setVisible(!details.isEmpty());
    show();
}

QString MessageBar::text() const {
    return what_->text() + QLatin1Char('\n') + details_->text();
}

void MessageBar::setTheme(const Theme& theme) {
    QPalette colours = theme.palette;
    colours.setColor(QPalette::Window, theme.message);
    setPalette(colours);
}

QuestionBar::QuestionBar(const QString& text, QWidget* parent) : QFrame(parent) {
    setFrameShape(QFrame::StyledPanel);
    hide();
    auto* label = new ElidedLabel(text, this);
    label->setToolTip(text);
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* row = spaced(new QHBoxLayout(this), {12, 4, 8, 4});
    row->addWidget(label, 1);
}

void QuestionBar::addAnswer(const char* name, const QString& title, const std::function<void()>& then) {
    auto* button = named(new QToolButton(this), name);
    button->setText(title);
    connect(button, &QToolButton::clicked, this, then);
    layout()->addWidget(button);
}

namespace {

constexpr int kResolution = 1000;

} // namespace

LoadIndicator::LoadIndicator(BackgroundJob& job, QWidget* parent)
    : QWidget(parent), name_(new QLabel(this)), bar_(new QProgressBar(this)) {
    bar_->setFixedWidth(180);
    bar_->setMaximumHeight(name_->sizeHint().height());
    bar_->setTextVisible(false);
    bar_->setAccessibleName(tr("Loading"));
    auto* cancel = named(new QToolButton(this), "cancelLoad");
    cancel->setText(tr("Cancel"));
    cancel->setAutoRaise(true);
    connect(cancel, &QToolButton::clicked, this, &LoadIndicator::cancelRequested);

    auto* row = spaced(new QHBoxLayout(this), {0, 0, 4, 0});
    addAll(*row, {name_, bar_, cancel});

    connect(&job, &BackgroundJob::runningChanged, this, [this](bool running) {
        bar_->setRange(0, 0);
        setVisible(running);
        estimate_ = {};
        since_.start();
        name_->setText(loading_);
    });
    connect(&job, &BackgroundJob::counted, this, &LoadIndicator::showCount);
    connect(&job, &BackgroundJob::progress, this, [this](double fraction) {
        // In Qt a range from 0 to 0 means "busy, duration unknown".
        bar_->setRange(0, fraction < 0 ? 0 : kResolution);
        if (fraction >= 0) bar_->setValue(static_cast<int>(fraction * kResolution));
    });
    bar_->setRange(0, 0);
    since_.start();
    setVisible(job.running()); // a load may continue while views are recreated
}

void LoadIndicator::setName(const QString& name) {
    loading_ = tr("Loading %1").arg(name);
    name_->setText(loading_);
}

void LoadIndicator::showCount(quint64 done, quint64 total) {
    estimate_.observe(TimeNs{since_.nsecsElapsed()}, done, total);
    if (estimate_.readAll()) return name_->setText(tr("%1: sorting").arg(loading_));
    const auto left = estimate_.remaining();
    if (!left) return;
    constexpr quint64 kMega = 1'000'000;
    name_->setText(tr("%1: %2 of %3 MB, about %4 left")
                       .arg(loading_, QString::number(done / kMega), QString::number((total + kMega - 1) / kMega),
                            QString::fromStdString(roughTime(*left))));
}

namespace {

constexpr int kWhole = 100; ///< number of steps on the slider

} // namespace

ReferenceBar::ReferenceBar(ViewState& state, QWidget* parent)
    : QWidget(parent), state_(state), slider_(new QSlider(Qt::Horizontal, this)), name_(new QLabel(this)),
      result_(new ElidedLabel(this)) {
    setObjectName(QStringLiteral("referenceBar"));
    slider_->setObjectName(QStringLiteral("referenceSlider"));
    slider_->setRange(0, kWhole);
    slider_->setPageStep(kWhole / 10);
    slider_->setFixedWidth(220);
    name_->setTextFormat(Qt::PlainText);
    result_->setObjectName(QStringLiteral("referenceResult"));
    result_->setTextFormat(Qt::PlainText);
    result_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* observed = new QLabel(tr("observed"), this);
    observed->setBuddy(slider_);
    auto* row = spaced(new QHBoxLayout(this), {12, 2, 12, 2}, 8);
    addAll(*row, {observed, slider_, name_});
    row->addSpacing(16);
    row->addWidget(result_, 1);

    connect(slider_, &QSlider::valueChanged, this,
            [this](int value) { state_.setReferenceBlend(static_cast<double>(value) / kWhole); });
    connect(&state_, &ViewState::referenceChanged, this, &ReferenceBar::showReference);
    connect(&state_, &ViewState::referenceMoved, this, &ReferenceBar::showBlend);
    showReference();
}

void ReferenceBar::showReference() {
    const ReferenceOverlayPtr& reference = state_.reference();
    setVisible(reference != nullptr);
    if (!reference) return;
    name_->setText(reference->name);
    slider_->setAccessibleName(tr("From the observed step to %1").arg(reference->name));
    slider_->setToolTip(reference->explanation);
    showBlend();
}

void ReferenceBar::showBlend() {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(static_cast<int>(std::lround(state_.referenceBlend() * kWhole)));
    const ReferenceOverlayPtr& reference = state_.shownReference();
    if (!reference || !state_.pipeline()) return;
    const TimeRange window = state_.pipeline()->window(reference->step);
    const TimeNs change = reference->timeline.end - window.end;
    const double relative =
        static_cast<double>(change.count()) / static_cast<double>(std::max<std::int64_t>(1, window.length().count()));
    result_->setText(tr("Moved by %1: the step ends at %2 (%3, %4)")
                         .arg(percent(state_.referenceBlend()), shortTime(reference->timeline.end - window.begin),
                              timeDelta(change), percentDelta(relative)));
}

} // namespace bubblescope::gui
