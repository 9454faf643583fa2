#pragma once

#include "app/gui/timeline/commands.h"

class QMenu;
class QToolBar;

namespace bubblescope::gui {

class DockPanels;
class IdealOverlay;
class LanguageManager;
class LiveWatch;
class MainWindow;
class Preferences;
class ThemeManager;
class TimelineView;
class TraceExports;
class TraceTabs;
class ViewState;

/// The objects that a window's menus control, in addition to the window itself. Must outlive the menus.
struct MenuTargets {
    ViewState& state;
    ThemeManager& themes;
    LanguageManager& languages;
    Preferences& preferences;
    TraceTabs& tabs;
    LiveWatch& live;
    DockPanels& docks;
    TraceExports& exports;
    TimelineView& timeline;
    IdealOverlay& ideal;
};

/// The object name of the action that runs a command of the timeline.
[[nodiscard]] QString commandActionName(Command command);

/// Fills the window's empty menu bar, in the user's language. All keys are shortcuts of the window, wherever the focus
/// is in it; see KeyGuard.
void buildMenus(MainWindow& window, const MenuTargets& targets);

/// Adds the options for the timeline's rows to a menu: lanes, order and groups. `state` must outlive the menu.
void fillRowsMenu(QMenu& menu, ViewState& state);

/// Adds the tool bar to a window whose menus have been built: their most frequently used actions, with icons.
[[nodiscard]] QToolBar* makeToolBar(MainWindow& window);

} // namespace bubblescope::gui
