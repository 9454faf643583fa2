#pragma once

#include "app/gui/models/session.h"

namespace bubblescope::gui {

/// Loads the first megabytes of a trace that takes about a second or longer to load, so that a user can look at them in
/// the meantime. Shows steps if the trace declares its sizes and these megabytes contain whole steps; otherwise the
/// recorded slices, because a part of a pipeline looks like a smaller pipeline. Returns null if the trace is small or
/// its beginning cannot be read. For worker threads.
[[nodiscard]] SessionPtr loadFirstSteps(const RunLoader& loader, const RunLoader::Paths& paths, JobControl& control,
                                        const Taught& taught);

} // namespace bubblescope::gui
