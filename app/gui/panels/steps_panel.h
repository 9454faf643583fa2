#pragma once

#include "app/gui/charts/step_chart.h"
#include "app/gui/models/view_state.h"

namespace bubblescope::gui {

class FillWhenVisible;

/// Wall time and bubble rate of all steps, of the slowest replica and thinly of each, with the changes found by the
/// report. Without a pipeline: the steps that files mark, with compute, exposed communication and idle time. A click
/// shows a step on the timeline, a drag shows a range.
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
    std::vector<TimeRange> marked_; ///< the steps that are shown of a trace without a pipeline
};

} // namespace bubblescope::gui
