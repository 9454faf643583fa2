#pragma once

#include "app/gui/charts/step_chart.h"
#include "app/gui/models/view_state.h"

namespace bubblescope::gui {

class FillWhenVisible;

/// Wall time and bubble rate of all steps, with thick curves for the slowest replica and thin ones for each replica,
/// and the changes found by the report. Without a pipeline, the steps marked in the files, with compute, exposed
/// communication and idle time. A click shows a step on the timeline, a drag shows a range.
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
    std::vector<TimeRange> marked_; ///< the steps shown for a trace without a pipeline
};

} // namespace bubblescope::gui
