#pragma once

#include "app/gui/charts/step_chart.h"
#include "app/gui/live/live_controller.h"

namespace bubblescope::gui {

class FillWhenSeen;

/// Time and bubble rate of all steps of a watched run as they come, with alerts as marks. A click shows a step on the
/// timeline, while it is still there in full.
class LiveStrip : public StepChart {
    Q_OBJECT

public:
    LiveStrip(LiveController& live, ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

signals:
    /// Of the step that was asked for only the sums are left.
    void stepGone(int number);

private:
    void refresh();
    void markCurrent();
    void choose(int place);

    LiveController& live_;
    ViewState& state_;
    LiveSnapshotPtr shown_;
    FillWhenSeen* fill_;
};

} // namespace bubblescope::gui
