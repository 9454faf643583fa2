#include "app/gui/keyboard.h"

#include "app/gui/timeline/timeline_view.h"

#include <QAbstractSpinBox>
#include <QCoreApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMainWindow>
#include <QStatusBar>
#include <QTabBar>
#include <QTextEdit>
#include <QToolBar>

#include <algorithm>
#include <tuple>
#include <vector>

namespace bubblescope::gui {

namespace {

/// Position in the focus order: the part of the window, then column and row within the part.
using FocusPlace = std::tuple<int, int, int>;

/// Child of the window that contains a widget.
const QWidget& focusPartOf(const QMainWindow& window, const QWidget& widget) {
    const QWidget* part = &widget;
    while (part->parentWidget() != &window && part->parentWidget() != nullptr)
        part = part->parentWidget();
    return *part;
}

/// Corner of a part. Tabs have the corner of the docks below them, so that they come directly before the raised dock.
QPoint focusCornerOf(const QMainWindow& window, const QWidget& part) {
    if (qobject_cast<const QTabBar*>(&part) == nullptr) return part.pos();
    for (const QDockWidget* dock : window.findChildren<QDockWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
        const QRect place = dock->geometry();
        const bool same_column = part.x() < place.right() && part.geometry().right() > place.left();
        if (dock->isVisible() && same_column) return {place.x(), std::min(part.y(), place.y() - 1)};
    }
    return part.pos();
}

FocusPlace focusPlaceOf(const QMainWindow& window, const QWidget& widget) {
    enum Part { Tools, Left, Middle, Docks, Status };
    const QWidget& part = focusPartOf(window, widget);
    const QPoint corner = focusCornerOf(window, part);
    if (qobject_cast<const QToolBar*>(&part) != nullptr) return {Tools, corner.x(), corner.y()};
    if (qobject_cast<const QStatusBar*>(&part) != nullptr) return {Status, 0, 0};
    if (&part == window.centralWidget()) return {Middle, 0, 0};
    const bool left = corner.x() < window.centralWidget()->x();
    return {left ? Left : Docks, corner.x(), corner.y()};
}

/// Docks behind the raised dock are visible for Qt, but outside the window.
bool takesTab(const QMainWindow& window, const QWidget& widget) {
    return (widget.focusPolicy() & Qt::TabFocus) == Qt::TabFocus && widget.isVisible() && widget.isEnabled() &&
           widget.focusProxy() == nullptr && widget.window() == &window &&
           focusPartOf(window, widget).geometry().intersects(window.rect());
}

} // namespace

QWidget* nextInFocusOrder(const QMainWindow& window, bool forward) {
    struct Stop {
        FocusPlace place;
        QWidget* widget;
    };
    std::vector<Stop> stops;
    for (QWidget* widget = window.nextInFocusChain(); widget != &window; widget = widget->nextInFocusChain()) {
        if (takesTab(window, *widget)) stops.push_back({focusPlaceOf(window, *widget), widget});
    }
    if (stops.empty()) return nullptr;
    std::ranges::stable_sort(stops, {}, &Stop::place);
    const auto now = std::ranges::find(stops, window.focusWidget(), &Stop::widget);
    if (now == stops.end()) return forward ? stops.front().widget : stops.back().widget;
    const std::size_t count = stops.size();
    const auto at = static_cast<std::size_t>(now - stops.begin());
    return stops[(at + (forward ? 1 : count - 1)) % count].widget;
}

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
