#pragma once

#include "app/gui/charts/step_chart.h"
#include "app/gui/models/view_state.h"

namespace bubblescope::gui {

class FillWhenVisible;

/// Chart of the wall time and bubble rate of all steps, with marks at detected changes. Thick curves show the slowest
/// replica, thin curves each replica. For a trace without a pipeline, it shows compute, exposed communication and idle
/// time of the steps in the files. A click shows a step on the timeline; dragging shows a range.
class StepsPanel : public StepChart {
    Q_OBJECT

public:
    StepsPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

private:
    void showSession();
    void showActivity(const Session& session);
    void showRange(int first, int last);
    [[nodiscard]] int chartStep(int timeline) const;
    [[nodiscard]] int timelineOf(int step) const;

    ViewState& state_;
    FillWhenVisible* fill_;
    std::vector<TimeRange> marked_; ///< displayed steps of a trace without a pipeline
};

} // namespace bubblescope::gui
