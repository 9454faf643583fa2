#pragma once

#include "app/gui/models/session.h"

namespace bubblescope::gui {

/// Loads the first steps of a trace that takes about a second or longer to load, from the first megabytes of its files:
/// what a user can look at meanwhile. Null where the trace is small, where it does not state its own sizes (a part of
/// it would look like a smaller pipeline), and where these megabytes hold no whole step. For worker threads.
[[nodiscard]] SessionPtr loadFirstSteps(const RunLoader& loader, const RunLoader::Paths& paths, JobControl& control,
                                        LoadOptions taught);

} // namespace bubblescope::gui
