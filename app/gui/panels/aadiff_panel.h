#pragma once

#include "app/gui/charts/heat_map.h"
#include "app/gui/jobs/background_job.h"
#include "app/gui/models/check_plan.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme_manager.h"

#include <QWidget>

#include <optional>

class QComboBox;
class QLabel;
class QSpinBox;
class QStackedWidget;
class QTableWidget;

namespace bubblescope::gui {

class CheckResults;
class FillWhenSeen;

/// What came of a run's A/A checks, and what checks its bubbles could hold: slots, the plan, and how soon each op of
/// each chunk is checked. A run without checks shows the plan alone, and says that nothing was checked. A click on a
/// slot or a cell shows it on the timeline. Planned when it is first looked at.
class AadiffPanel : public QWidget {
    Q_OBJECT

public:
    AadiffPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] const std::optional<CheckPlan>& plan() const { return plan_; }

signals:
    void planned();

private:
    void chooseView();
    void showView();
    void refresh();
    void finish(Result<CheckPlan> plan);
    void showSlots();
    void showCoverage();
    [[nodiscard]] static HeatMap::Cell cellOf(const CheckPlan::Unit& unit, int latest);
    void goToSlot(int row);
    void goToUnit(int rank, int column);
    void highlightChecks(const std::vector<Highlight>& stretches, const QString& caption);

    ViewState& state_;
    BackgroundJob job_;
    std::optional<CheckPlan> plan_;
    QComboBox* what_; ///< the run's own checks or the plan
    QStackedWidget* pages_;
    CheckResults* results_;
    FillWhenSeen* fill_;
    QSpinBox* margin_;
    QLabel* headline_;
    HeatMap* map_;
    QTableWidget* table_;
};

} // namespace bubblescope::gui
