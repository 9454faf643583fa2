#pragma once

class QMainWindow;
class QWidget;

namespace bubblescope::gui {

/// The widget that Tab leads to from the one that has the focus, or Shift+Tab: the tool bar, then the middle, then the
/// docks from left to right, each after the tabs that bring it to the front. Never one that is hidden. Null if there is
/// none.
[[nodiscard]] QWidget* nextInFocusOrder(const QMainWindow& window, bool forward);

} // namespace bubblescope::gui
