#pragma once

#include <QObject>

class QMainWindow;
class QWidget;

namespace bubblescope::gui {

/// The widget that Tab or Shift+Tab moves to from the focused one. The order is the tool bar, the centre, then the
/// docks from left to right, each after the tabs that bring it to the front. Skips hidden widgets. Null if there is no
/// other widget.
[[nodiscard]] QWidget* nextInFocusOrder(const QMainWindow& window, bool forward);

/// Leaves keys that are also shortcuts of the window to the focused widget: arrows, Home, Page Up and similar keys to
/// everything except the timeline, and Escape to text fields. Letters need no guard, because text fields claim them
/// themselves. Installed as an event filter on the application.
class KeyGuard : public QObject {
    Q_OBJECT

public:
    explicit KeyGuard(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace bubblescope::gui
