#pragma once

#include "app/gui/charts/step_chart.h"
#include "app/gui/live/live_controller.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

class QSplitter;
class QTabWidget;
class QTableView;

namespace bubblescope::gui {

class FillWhenSeen;
class LiveAlertModel;
class LiveRankModel;

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

/// A watched run as a whole: all its steps, what happened in it, and how its ranks are.
class LivePanel : public QWidget {
    Q_OBJECT

public:
    LivePanel(LiveController& live, ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

signals:
    /// Something to tell the user in passing.
    void note(const QString& text);

private:
    QTableView* addTable(const char* name, const QString& accessible);
    void refresh();
    void goToAlert(int row);

    LiveController& live_;
    ViewState& state_;
    LiveStrip* strip_;
    LiveAlertModel* alerts_;
    LiveRankModel* ranks_;
    QTabWidget* tabs_;
    QTableView* alert_table_;
    QTableView* rank_table_;
    FillWhenSeen* fill_;
};

} // namespace bubblescope::gui
