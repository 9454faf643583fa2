#pragma once

#include "app/gui/options.h"
#include "core/base/result.h"

namespace bubblescope::gui {

class MainWindow;

/// Step, panel and what else the options ask to see of a trace that is open. Errors: Usage where the trace or the
/// window has no such thing.
[[nodiscard]] Status showAsAsked(MainWindow& window, const Options& options);

/// Begins to open the files, or to watch the run.
void openAsAsked(MainWindow& window, const Options& options);

/// Loads the files, writes a picture of the window once background work is done, and returns the exit code.
[[nodiscard]] int takeScreenshot(MainWindow& window, const Options& options);

} // namespace bubblescope::gui
