#pragma once

#include "app/gui/models/session.h"

namespace bubblescope::gui {

/// Loads the first steps of a trace that takes about a second or longer to load, from the first megabytes of its files:
/// what a user can look at meanwhile. Null where the trace is small or these hold no whole step, as of files that are
/// not in order of time: those of profilers, which write thread after thread. For worker threads.
[[nodiscard]] SessionPtr loadFirstSteps(const RunLoader& loader, const RunLoader::Paths& paths, JobControl& control,
                                        LoadOptions taught);

} // namespace bubblescope::gui
