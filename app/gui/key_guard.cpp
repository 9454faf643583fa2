#include "app/gui/key_guard.h"

#include "app/gui/timeline/timeline_view.h"

#include <QAbstractSpinBox>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMainWindow>
#include <QTextEdit>

namespace bubblescope::gui {

namespace {

bool movesCursor(const QKeyEvent& event) {
    if (event.modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) return false;
    switch (event.key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Home:
    case Qt::Key_End:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown: return true;
    default: return false;
    }
}

bool takesText(const QObject& widget) {
    return qobject_cast<const QLineEdit*>(&widget) != nullptr || qobject_cast<const QTextEdit*>(&widget) != nullptr ||
           qobject_cast<const QAbstractSpinBox*>(&widget) != nullptr;
}

} // namespace

KeyGuard::KeyGuard(QObject* parent) : QObject(parent) {
    QCoreApplication::instance()->installEventFilter(this);
}

bool KeyGuard::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::ShortcutOverride || !watched->isWidgetType()) return false;
    const auto& key = static_cast<const QKeyEvent&>(*event);
    const bool timeline =
        qobject_cast<const TimelineView*>(watched) != nullptr || qobject_cast<const QMainWindow*>(watched) != nullptr;
    const bool keeps = (movesCursor(key) && !timeline) || (key.key() == Qt::Key_Escape && takesText(*watched));
    if (!keeps) return false;
    event->accept();
    return true;
}

} // namespace bubblescope::gui
