#pragma once

namespace bubblescope::gui {

class DockPanels;
class IdealOverlay;
class LanguageManager;
class LiveWatch;
class MainWindow;
class ThemeManager;
class TimelineView;
class TraceTabs;
class ViewState;

/// What a window's menus control, besides the window itself. Must outlive the menus.
struct MenuTargets {
    ViewState& state;
    ThemeManager& themes;
    LanguageManager& languages;
    TraceTabs& tabs;
    LiveWatch& live;
    DockPanels& docks;
    TimelineView& timeline;
    IdealOverlay& ideal;
};

/// Fills the window's empty menu bar, in the user's language.
void buildMenus(MainWindow& window, const MenuTargets& targets);

} // namespace bubblescope::gui
