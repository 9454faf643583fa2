#pragma once

#include "app/gui/options.h"

namespace bubblescope::gui {

class MainWindow;

/// Loads `options.files` into the window, waits for it and writes the picture. Runs the event loop; returns
/// the exit code. Errors go to stderr.
[[nodiscard]] int takeScreenshot(MainWindow& window, const Options& options);

/// Shows the step with that number; false when the session has none.
bool showStepNumber(MainWindow& window, int number);

} // namespace bubblescope::gui
