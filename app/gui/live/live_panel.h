#pragma once

#include "app/gui/charts/step_chart.h"
#include "app/gui/live/live_controller.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

class QTabWidget;
class QTableView;

namespace bubblescope::gui {

class FillWhenVisible;
class LiveCauseModel;
class LiveRankModel;

/// Chart of the step time and bubble rate of a watched run, with alerts as marks. A click shows a step on the timeline
/// if its ops are still available.
class LiveStepChart : public StepChart {
    Q_OBJECT

public:
    LiveStepChart(LiveController& live, ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

signals:
    /// Emitted when the ops of the requested step are no longer available.
    void stepGone(int number);

private:
    void refresh();
    void markCurrent();
    void choose(int place);

    LiveController& live_;
    ViewState& state_;
    LiveSnapshotPtr shown_;
    FillWhenVisible* fill_;
};

/// Overview of a watched run: all its steps, the causes of its alerts, and its ranks.
class LivePanel : public QWidget {
    Q_OBJECT

public:
    LivePanel(LiveController& live, ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

signals:
    /// Requests a message in the status bar.
    void note(const QString& text);

private:
    QTableView* addTable(const char* name, const QString& accessible);
    void refresh();
    void goToCause(int row);

    LiveController& live_;
    ViewState& state_;
    LiveStepChart* strip_;
    LiveCauseModel* causes_;
    LiveRankModel* ranks_;
    QTabWidget* tabs_;
    QTableView* alert_table_;
    QTableView* rank_table_;
    FillWhenVisible* fill_;
};

} // namespace bubblescope::gui
