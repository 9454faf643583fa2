#pragma once

#include "app/gui/options.h"
#include "core/base/result.h"

namespace bubblescope::gui {

class MainWindow;

/// Applies the options for step, panel and so on to an open trace. Errors: Usage if an option refers to something that
/// the trace or the window does not contain.
[[nodiscard]] Status showAsAsked(MainWindow& window, const Options& options);

/// Starts opening the files or watching the run.
void openAsAsked(MainWindow& window, const Options& options);

/// Loads the files, waits for background work, saves a screenshot of the window, and returns the exit code.
[[nodiscard]] int takeScreenshot(MainWindow& window, const Options& options);

} // namespace bubblescope::gui
