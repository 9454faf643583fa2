#include "app/gui/panels/reference_bar.h"

#include "app/gui/language/format.h"
#include "app/gui/panels/widgets.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>

#include <cmath>

namespace bubblescope::gui {

namespace {

constexpr int kWhole = 100; ///< the slider's steps

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
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 2, 12, 2);
    row->setSpacing(8);
    row->addWidget(observed);
    row->addWidget(slider_);
    row->addWidget(name_);
    row->addSpacing(16);
    row->addWidget(result_, 1);

    connect(slider_, &QSlider::valueChanged, this,
            [this](int value) { state_.setReferenceBlend(static_cast<double>(value) / kWhole); });
    connect(&state_, &ViewState::referenceChanged, this, &ReferenceBar::showReference);
    connect(&state_, &ViewState::referenceMoved, this, &ReferenceBar::showShare);
    showReference();
}

void ReferenceBar::showReference() {
    const ReferenceOverlayPtr& reference = state_.reference();
    setVisible(reference != nullptr);
    if (!reference) return;
    name_->setText(reference->name);
    slider_->setAccessibleName(tr("From the observed step to %1").arg(reference->name));
    slider_->setToolTip(reference->explanation);
    showShare();
}

void ReferenceBar::showShare() {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(static_cast<int>(std::lround(state_.referenceBlend() * kWhole)));
    const ReferenceOverlayPtr& reference = state_.shownReference();
    if (!reference || !state_.session()) return;
    const TimeRange window = state_.session()->window(reference->step);
    const TimeNs change = reference->timeline.end - window.end;
    const double relative =
        static_cast<double>(change.count()) / static_cast<double>(std::max<std::int64_t>(1, window.length().count()));
    result_->setText(tr("%1 of the way: the step ends at %2 (%3, %4)")
                         .arg(percent(state_.referenceBlend()), shortTime(reference->timeline.end - window.begin),
                              timeDelta(change), percentDelta(relative)));
}

} // namespace bubblescope::gui
