#pragma once

#include "app/gui/charts/step_chart.h"
#include "app/gui/models/view_state.h"

namespace bubblescope::gui {

class FillWhenVisible;

/// Wall time and bubble rate of all steps, of the slowest replica and thinly of each, with the changes found by the
/// report. A click shows a step on the timeline, a drag shows a range.
class StepsPanel : public StepChart {
    Q_OBJECT

public:
    StepsPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

private:
    void showSession();
    [[nodiscard]] int chartStep(int timeline) const;
    [[nodiscard]] int timelineOf(int step) const;

    ViewState& state_;
    FillWhenVisible* fill_;
};

} // namespace bubblescope::gui
