#pragma once

#include "app/gui/models/session.h"

namespace bubblescope::gui {

/// Loads the first megabytes of a trace as a preview, if loading the complete trace takes at least a second. The
/// preview contains steps if the trace specifies its sizes and these megabytes include complete steps. Otherwise, it
/// contains the recorded slices, because a truncated pipeline could be mistaken for a smaller one. Returns null if the
/// trace is small or if its first part cannot be read. For worker threads.
[[nodiscard]] SessionPtr loadFirstSteps(const RunLoader& loader, const RunLoader::Paths& paths, JobControl& control,
                                        const Taught& taught);

} // namespace bubblescope::gui
