#pragma once

#include "app/gui/options.h"
#include "core/base/result.h"

namespace bubblescope::gui {

class MainWindow;

/// Applies the options for step, panel and so on to an open trace. Errors: Usage if the trace or the window does not
/// have what an option names.
[[nodiscard]] Status showAsAsked(MainWindow& window, const Options& options);

/// Starts to open the files, or to watch the run.
void openAsAsked(MainWindow& window, const Options& options);

/// Loads the files, saves a picture of the window once background work is finished, and returns the exit code.
[[nodiscard]] int takeScreenshot(MainWindow& window, const Options& options);

} // namespace bubblescope::gui
