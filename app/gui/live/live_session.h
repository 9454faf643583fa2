#pragma once

#include "app/gui/models/session.h"
#include "core/live/live_view.h"
#include "core/live/step_window.h"

namespace bubblescope::gui {

/// The last steps of a run that goes on, as views show a loaded one: those behind the last large gap in their
/// numbers, and no more than hold `most_ops`, but for the newest. Null where there is none. Errors: Cancelled.
[[nodiscard]] Result<SessionPtr> liveSession(const live::StepWindow& window,
                                             const std::vector<live::LiveAnomaly>& anomalies, std::size_t most_ops,
                                             const JobControl& control);

} // namespace bubblescope::gui
