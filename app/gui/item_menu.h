#pragma once

#include "app/gui/models/item.h"

class QMenu;
class QWidget;

namespace bubblescope::gui {

class NoteStore;
class SearchBar;
class TimelineView;
class ViewState;

/// What the menu of an item acts on. Must outlive the menu.
struct ItemMenuTargets {
    ViewState& state;
    TimelineView& timeline;
    NoteStore& notes;
    SearchBar& search;
};

/// The menu of an op, bubble, transfer, check or slice: zoom, follow, pin, note, copy, find the same. The item must be
/// selected. Deletes itself when it closes.
[[nodiscard]] QMenu* makeItemMenu(const ItemMenuTargets& targets, const ItemRef& item, QWidget* parent);

} // namespace bubblescope::gui
