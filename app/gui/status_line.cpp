#include "app/gui/status_line.h"

#include "app/gui/panels/bars.h"
#include "app/gui/panels/widgets.h"
#include "app/gui/trace_tabs.h"

#include <QStatusBar>
#include <QToolButton>

namespace bubblescope::gui {

StatusLine::StatusLine(QStatusBar& bar, TraceTabs& tabs)
    : QObject(&bar), bar_(bar), hover_(new ElidedLabel(&bar)), problems_(new QToolButton(&bar)) {
    hover_->setObjectName(QStringLiteral("hoverLine"));
    hover_->setTextFormat(Qt::PlainText);
    hover_->setContentsMargins(8, 0, 8, 0);
    // A long line must not widen the window.
    hover_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    bar.addWidget(hover_, 1);
    auto* load = new LoadIndicator(tabs.job(), &bar);
    load->setName(tabs.loadName());
    connect(&tabs, &TraceTabs::loadStarted, load, &LoadIndicator::setName);
    connect(load, &LoadIndicator::cancelRequested, &tabs, &TraceTabs::cancelLoad);
    bar.addPermanentWidget(load);
    problems_->setObjectName(QStringLiteral("problemsButton"));
    problems_->setAutoRaise(true);
    problems_->setToolTip(tr("Corrupt, lost or guessed data"));
    connect(problems_, &QToolButton::clicked, this, &StatusLine::problemsRequested);
    bar.addPermanentWidget(problems_);
    // Lets a message use all the space. The status bar hides only visible widgets, but directly after the views are
    // recreated, none are visible.
    const auto make_room = [this](const QString& message) { hover_->setVisible(message.isEmpty()); };
    connect(&bar, &QStatusBar::messageChanged, hover_, make_room);
    make_room(bar.currentMessage());
}

void StatusLine::setHovered(const QString& text) {
    hover_->setText(text);
}

void StatusLine::showMessage(const QString& text, int milliseconds) {
    constexpr int kMargins = 24; // the bar's, and before the button
    const int right = problems_->isVisible() ? problems_->x() : bar_.width();
    bar_.showMessage(bar_.fontMetrics().elidedText(text, Qt::ElideRight, right - kMargins), milliseconds);
}

void StatusLine::showProblems(std::optional<std::size_t> count) {
    problems_->setText(count.value_or(0) == 0 ? tr("No problems") : tr("Problems: %1").arg(*count));
    problems_->setVisible(count.has_value());
}

} // namespace bubblescope::gui
