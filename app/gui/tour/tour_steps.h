#pragma once

#include <QString>

#include <vector>

namespace bubblescope::gui {

/// A stop of the tour: what it points at, and what it says.
struct TourStep {
    QString target; ///< object name of the widget
    QString panel;  ///< to bring to the front before, as for TourPlace::show_panel; empty = none
    QString title;
    QString text;
};

/// The demo that the tour is written for; it can be taken with any trace.
inline constexpr const char* kTourDemo = "slow-last-stage";

/// In the user's language.
[[nodiscard]] std::vector<TourStep> tourSteps();

} // namespace bubblescope::gui
