#pragma once

#include "app/gui/options.h"
#include "core/base/result.h"

namespace bubblescope::gui {

class MainWindow;

/// Applies the options about step, panel and so on to an open trace. Errors: Usage if the trace or the window has no
/// such thing.
[[nodiscard]] Status showAsAsked(MainWindow& window, const Options& options);

/// Starts to open the files, or to watch the run.
void openAsAsked(MainWindow& window, const Options& options);

/// Loads the files, saves a picture of the window once background work is done, and returns the exit code.
[[nodiscard]] int takeScreenshot(MainWindow& window, const Options& options);

} // namespace bubblescope::gui
