#include "app/gui/panels/load_indicator.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

namespace bubblescope::gui {

namespace {

constexpr int kResolution = 1000;

} // namespace

LoadIndicator::LoadIndicator(BackgroundJob& job, QWidget* parent)
    : QWidget(parent), name_(new QLabel(this)), bar_(new QProgressBar(this)) {
    bar_->setFixedWidth(180);
    bar_->setMaximumHeight(name_->sizeHint().height());
    bar_->setTextVisible(false);
    bar_->setAccessibleName(tr("Loading"));
    auto* cancel = new QToolButton(this);
    cancel->setObjectName(QStringLiteral("cancelLoad"));
    cancel->setText(tr("Cancel"));
    cancel->setAutoRaise(true);
    connect(cancel, &QToolButton::clicked, this, &LoadIndicator::cancelRequested);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 4, 0);
    row->addWidget(name_);
    row->addWidget(bar_);
    row->addWidget(cancel);

    connect(&job, &BackgroundJob::runningChanged, this, [this](bool running) {
        bar_->setRange(0, 0);
        setVisible(running);
        estimate_ = {};
        since_.start();
        name_->setText(loading_);
    });
    connect(&job, &BackgroundJob::counted, this, &LoadIndicator::showCount);
    connect(&job, &BackgroundJob::progress, this, [this](double fraction) {
        // Range 0 to 0 is Qt's way to say "busy, no idea how long".
        bar_->setRange(0, fraction < 0 ? 0 : kResolution);
        if (fraction >= 0) bar_->setValue(static_cast<int>(fraction * kResolution));
    });
    setVisible(false);
}

void LoadIndicator::setName(const QString& name) {
    loading_ = tr("Loading %1").arg(name);
    name_->setText(loading_);
}

void LoadIndicator::showCount(quint64 done, quint64 total) {
    estimate_.observe(TimeNs{since_.nsecsElapsed()}, done, total);
    if (estimate_.readAll()) return name_->setText(tr("%1: putting in order").arg(loading_));
    const auto left = estimate_.remaining();
    if (!left) return;
    constexpr quint64 kMega = 1'000'000;
    name_->setText(tr("%1: %2 of %3 MB, about %4 left")
                       .arg(loading_, QString::number(done / kMega), QString::number((total + kMega - 1) / kMega),
                            QString::fromStdString(roughTime(*left))));
}

} // namespace bubblescope::gui
