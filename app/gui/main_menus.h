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

/// Objects that a window's menus control, in addition to the window. The objects must outlive the menus.
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

/// Object name of the action for a timeline command.
[[nodiscard]] QString commandActionName(Command command);

/// Fills the empty menu bar of a window, in the user's language. All keys are shortcuts of the window, regardless of
/// the focus; see KeyGuard.
void buildMenus(MainWindow& window, const MenuTargets& targets);

/// Adds the timeline's row options to a menu: lanes, order and groups. `state` must outlive the menu.
void fillRowsMenu(QMenu& menu, ViewState& state);

/// Adds a tool bar with the most frequently used actions. buildMenus() must be called first.
[[nodiscard]] QToolBar* makeToolBar(MainWindow& window);

} // namespace bubblescope::gui
