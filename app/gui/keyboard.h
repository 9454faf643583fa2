#pragma once

#include <QObject>

class QMainWindow;
class QWidget;

namespace bubblescope::gui {

/// The widget that Tab leads to from the one that has the focus, or Shift+Tab: the tool bar, then the middle, then the
/// docks from left to right, each after the tabs that bring it to the front. Never one that is hidden. Null if there is
/// none.
[[nodiscard]] QWidget* nextInFocusOrder(const QMainWindow& window, bool forward);

/// Leaves keys to the focused widget that are also shortcuts of the window: arrows, Home, Page Up and the like to all
/// but the timeline, and Escape to text fields. Letters need no guard: text fields claim them themselves. Filters the
/// events of the application.
class KeyGuard : public QObject {
    Q_OBJECT

public:
    explicit KeyGuard(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace bubblescope::gui
