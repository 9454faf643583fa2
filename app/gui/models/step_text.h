#pragma once

#include "app/gui/models/item_text.h"

namespace bubblescope::gui {

/// A description of a step's time and waits, or the size of a trace without steps; shown while nothing is selected.
[[nodiscard]] ItemDescription describeStep(const Session& session, int step);

} // namespace bubblescope::gui
