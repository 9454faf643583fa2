#pragma once

class QToolBar;

namespace bubblescope::gui {

class MainWindow;

/// Adds the tool bar to a window whose menus are built: the most frequent of their actions, with icons.
[[nodiscard]] QToolBar* makeToolBar(MainWindow& window);

} // namespace bubblescope::gui
