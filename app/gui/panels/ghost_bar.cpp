#include "app/gui/panels/ghost_bar.h"

#include "app/gui/language/format.h"
#include "app/gui/panels/elided_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>

#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kWhole = 100; ///< the slider's steps

} // namespace

GhostBar::GhostBar(ViewState& state, QWidget* parent)
    : QWidget(parent), state_(state), slider_(new QSlider(Qt::Horizontal, this)), name_(new QLabel(this)),
      result_(new ElidedLabel(this)) {
    setObjectName(QStringLiteral("ghostBar"));
    slider_->setObjectName(QStringLiteral("ghostSlider"));
    slider_->setRange(0, kWhole);
    slider_->setPageStep(kWhole / 10);
    slider_->setFixedWidth(220);
    name_->setTextFormat(Qt::PlainText);
    result_->setObjectName(QStringLiteral("ghostResult"));
    result_->setTextFormat(Qt::PlainText);
    result_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* observed = new QLabel(tr("observed"), this);
    observed->setBuddy(slider_);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 2, 12, 2);
    row->setSpacing(8);
    row->addWidget(observed);
    row->addWidget(slider_);
    row->addWidget(name_);
    row->addSpacing(16);
    row->addWidget(result_, 1);

    connect(slider_, &QSlider::valueChanged, this,
            [this](int value) { state_.setGhostShare(static_cast<double>(value) / kWhole); });
    connect(&state_, &ViewState::ghostChanged, this, &GhostBar::showGhost);
    connect(&state_, &ViewState::ghostMoved, this, &GhostBar::showShare);
    showGhost();
}

void GhostBar::showGhost() {
    const GhostPtr& ghost = state_.ghost();
    setVisible(ghost != nullptr);
    if (!ghost) return;
    name_->setText(ghost->name);
    slider_->setAccessibleName(tr("From the observed step to %1").arg(ghost->name));
    slider_->setToolTip(ghost->explanation);
    showShare();
}

void GhostBar::showShare() {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(static_cast<int>(std::lround(state_.ghostShare() * kWhole)));
    const GhostPtr& ghost = state_.shownGhost();
    if (!ghost || !state_.session()) return;
    const TimeRange window = state_.session()->window(ghost->step);
    const TimeNs change = ghost->timeline.end - window.end;
    const double relative =
        static_cast<double>(change.count()) / static_cast<double>(std::max<std::int64_t>(1, window.length().count()));
    result_->setText(tr("%1 of the way: the step ends at %2 (%3, %4)")
                         .arg(percent(state_.ghostShare()), shortTime(ghost->timeline.end - window.begin),
                              timeDelta(change), percentDelta(relative)));
}

} // namespace bubblescope::gui
