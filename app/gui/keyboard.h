#pragma once

#include <QObject>

class QMainWindow;
class QWidget;

namespace bubblescope::gui {

/// The widget that gets the focus when the user presses Tab or Shift+Tab. The order is the tool bar, the centre, and
/// the docks from left to right, each dock after its tab bar. Skips hidden widgets. Null if there is no other
/// widget.
[[nodiscard]] QWidget* nextInFocusOrder(const QMainWindow& window, bool forward);

/// Passes some keys to the focused widget even though they are shortcuts of the window: arrows, Home, Page Up and
/// similar keys to all widgets except the timeline, and Escape to text fields. Letters are not included, because Qt's
/// text fields already override such shortcuts. Installed as an event filter on the application.
class KeyGuard : public QObject {
    Q_OBJECT

public:
    explicit KeyGuard(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace bubblescope::gui
