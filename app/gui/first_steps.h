#pragma once

#include "app/gui/models/session.h"

namespace bubblescope::gui {

/// Loads the first megabytes of a trace that takes about a second or longer to load: what a user can look at meanwhile.
/// Where the trace states its own sizes and these megabytes hold whole steps, the steps; else the slices as they were
/// recorded, since a part of a pipeline looks like a smaller one. Neither where the trace is small or its beginning
/// cannot be read. For worker threads.
[[nodiscard]] SessionPtr loadFirstSteps(const RunLoader& loader, const RunLoader::Paths& paths, JobControl& control,
                                        LoadOptions taught);

} // namespace bubblescope::gui
