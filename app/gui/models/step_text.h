#pragma once

#include "app/gui/models/item_text.h"
#include "core/analysis/model_use.h"

namespace bubblescope::gui {

/// Describes the duration and waits of a step, or the size of a trace without steps. Shown while nothing is selected.
[[nodiscard]] ItemDescription describeStep(const Session& session, int step);

/// Model FLOPs utilisation in a step, with a note if it exceeds 100 %.
[[nodiscard]] QString modelUseShare(const ModelUse& use, TimeNs step);
/// Compute rate of the devices in a step, and the definition of that rate.
[[nodiscard]] QString modelUseText(const ModelUse& use, TimeNs step);

} // namespace bubblescope::gui
