#pragma once

#include "app/gui/charts/step_chart.h"
#include "app/gui/models/view_state.h"

namespace bubblescope::gui {

class FillWhenSeen;

/// Wall time and bubble rate of all steps with the changes that the report found. A click shows a step on the timeline,
/// a drag shows several.
class StepsPanel : public StepChart {
    Q_OBJECT

public:
    StepsPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

private:
    void showSession();

    ViewState& state_;
    FillWhenSeen* fill_;
};

} // namespace bubblescope::gui
