#include "app/gui/live/interaction_monitor.h"

#include <QCoreApplication>
#include <QDockWidget>
#include <QKeyEvent>

namespace bubblescope::gui {

namespace {

bool isInteraction(const QEvent& event) {
    if (event.type() == QEvent::MouseButtonPress) return true;
    if (event.type() != QEvent::KeyPress) return false;
    // A modifier alone may be the beginning of a shortcut.
    const int key = static_cast<const QKeyEvent&>(event).key();
    return key != Qt::Key_Control && key != Qt::Key_Shift && key != Qt::Key_Alt && key != Qt::Key_Meta;
}

} // namespace

void InteractionMonitor::setOn(bool on) {
    if (on == on_) return;
    on_ = on;
    if (on) {
        QCoreApplication::instance()->installEventFilter(this);
    } else {
        QCoreApplication::instance()->removeEventFilter(this);
    }
}

bool InteractionMonitor::eventFilter(QObject* watched, QEvent* event) {
    if (!watched->isWidgetType() || !isInteraction(*event)) return false;
    // Lists that pop up have the widget they belong to for a parent.
    for (auto* widget = static_cast<QWidget*>(watched); widget != nullptr; widget = widget->parentWidget()) {
        const auto* dock = qobject_cast<QDockWidget*>(widget);
        if (dock == nullptr) continue;
        if (dock != except_) emit interacted();
        break;
    }
    return false;
}

} // namespace bubblescope::gui
