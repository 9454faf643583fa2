#pragma once

#include "app/gui/models/item_text.h"

namespace bubblescope::gui {

/// What a step took and who waited, or the size of a trace without steps: while nothing is selected.
[[nodiscard]] ItemDescription describeStep(const Session& session, int step);

} // namespace bubblescope::gui
