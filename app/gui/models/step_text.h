#pragma once

#include "app/gui/models/item_text.h"
#include "core/analysis/model_use.h"

namespace bubblescope::gui {

/// A description of a step's time and waits, or the size of a trace without steps; shown while nothing is selected.
[[nodiscard]] ItemDescription describeStep(const Session& session, int step);

/// The utilisation in a step, with a note if it exceeds the peak.
[[nodiscard]] QString modelUseShare(const ModelUse& use, TimeNs step);
/// The rate that the devices reach in a step, and what it counts.
[[nodiscard]] QString modelUseText(const ModelUse& use, TimeNs step);

} // namespace bubblescope::gui
