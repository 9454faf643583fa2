#pragma once

#include "app/gui/models/view_state.h"

class QMenu;

namespace bubblescope::gui {

/// Fills a menu with what can be chosen of the timeline's rows: which lanes they have, their order and their groups.
/// The entries follow `state`, which must outlive the menu.
void fillRowsMenu(QMenu& menu, ViewState& state);

} // namespace bubblescope::gui
