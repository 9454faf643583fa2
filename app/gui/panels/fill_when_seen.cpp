#include "app/gui/panels/fill_when_seen.h"

#include <QDockWidget>
#include <QEvent>
#include <QWidget>

#include <utility>

namespace bubblescope::gui {

FillWhenSeen::FillWhenSeen(QWidget& panel, std::function<void()> fill)
    : QObject(&panel), panel_(panel), fill_(std::move(fill)) {
    panel_.installEventFilter(this);
}

/// A dock behind another tab is visible by its own word; it lies beside the window.
bool FillWhenSeen::seen() const {
    return panel_.isVisible() && !panel_.visibleRegion().isEmpty();
}

void FillWhenSeen::ask() {
    due_ = true;
    if (seen()) return settle();
    watchDock();
}

void FillWhenSeen::settle() {
    if (!due_) return;
    due_ = false;
    fill_();
}

/// The tab that is chosen tells its dock, not what lies in it.
void FillWhenSeen::watchDock() {
    QDockWidget* found = nullptr;
    for (QWidget* widget = &panel_; widget != nullptr && found == nullptr; widget = widget->parentWidget())
        found = qobject_cast<QDockWidget*>(widget);
    if (found == dock_) return;
    if (dock_) disconnect(dock_, nullptr, this, nullptr);
    dock_ = found;
    if (dock_ == nullptr) return;
    connect(dock_, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible && panel_.isVisible()) settle();
    });
}

bool FillWhenSeen::eventFilter(QObject* watched, QEvent* event) {
    if (watched != &panel_ || !due_) return false;
    if (event->type() == QEvent::Show) settle();
    // However else it came into sight. Not from within: filling changes what is to be painted.
    if (event->type() == QEvent::Paint) QMetaObject::invokeMethod(this, &FillWhenSeen::settle, Qt::QueuedConnection);
    return false;
}

} // namespace bubblescope::gui
