#pragma once

#include "app/gui/charts/heat_map.h"
#include "app/gui/jobs/background_job.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/aadiff/check_plan.h"
#include "core/aadiff/coverage.h"

#include <QWidget>

#include <optional>

class QComboBox;
class QLabel;
class QSpinBox;
class QStackedWidget;
class QTableWidget;

namespace bubblescope::gui {

class FillWhenVisible;

/// Results of the checks in a run: a map of the checked ops, and all mismatches with their verdicts. A click shows the
/// check on the timeline.
class CheckResults : public QWidget {
    Q_OBJECT

public:
    CheckResults(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// True if the open run contains checks.
    [[nodiscard]] bool any() const;
    /// Summary in one sentence; empty if the run has no checks.
    [[nodiscard]] QString headline() const;
    [[nodiscard]] const CoverageMap& map() const { return cells_; }

private:
    void refresh();
    void showMap();
    void showMismatches();
    [[nodiscard]] static HeatMap::Cell cellOf(const CoverageMap::Cell& cell);
    void goTo(const ItemRef& item);
    void goToCell(int row, int column);

    ViewState& state_;
    CoverageMap cells_;
    std::vector<std::size_t> mismatches_; ///< indices in CheckLog::checks, one per row
    HeatMap* map_;
    QTableWidget* table_;
    FillWhenVisible* fill_;
};

/// Results of the A/A checks in a run, and a plan of the checks that fit into its bubbles: slots, checks, and the
/// number of steps until every op of every chunk is checked. For a run without checks, only the plan is shown. A click
/// on a slot or a cell shows it on the timeline. The plan is computed when the panel is first visible.
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
    void highlightChecks(const std::vector<Highlight>& stretches);

    ViewState& state_;
    BackgroundJob job_;
    std::optional<CheckPlan> plan_;
    QComboBox* what_; ///< switches between results and plan
    QStackedWidget* pages_;
    CheckResults* results_;
    FillWhenVisible* fill_;
    QSpinBox* margin_;
    QLabel* headline_;
    HeatMap* map_;
    QTableWidget* table_;
};

} // namespace bubblescope::gui
