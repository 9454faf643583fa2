#pragma once

#include "app/gui/charts/heat_map.h"
#include "app/gui/jobs/background_job.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"
#include "core/aadiff/coverage.h"
#include "core/aadiff/run_plan.h"

#include <QWidget>

#include <optional>

class QComboBox;
class QLabel;
class QSpinBox;
class QStackedWidget;
class QTableWidget;

namespace bubblescope::gui {

class FillWhenSeen;

/// What came of the checks that a run made in its bubbles: a map of what they covered, and each difference they found
/// with its verdict. A click goes to the check on the timeline.
class CheckResults : public QWidget {
    Q_OBJECT

public:
    CheckResults(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// Whether the run that is open holds checks.
    [[nodiscard]] bool any() const;
    /// A sentence on all of them; empty without checks.
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
    std::vector<std::size_t> mismatches_; ///< places in CheckLog::checks, a row each
    HeatMap* map_;
    QTableWidget* table_;
    FillWhenSeen* fill_;
};

/// What came of a run's A/A checks, and what checks its bubbles could hold: slots, the plan, and how soon each op of
/// each chunk is checked. A run without checks shows the plan alone, and says that nothing was checked. A click on a
/// slot or a cell shows it on the timeline. Planned when it is first looked at.
class AadiffPanel : public QWidget {
    Q_OBJECT

public:
    AadiffPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    [[nodiscard]] const std::optional<RunPlan>& plan() const { return plan_; }

signals:
    void planned();

private:
    void chooseView();
    void showView();
    void refresh();
    void finish(Result<RunPlan> plan);
    void showSlots();
    void showCoverage();
    [[nodiscard]] static HeatMap::Cell cellOf(const RunPlan::Unit& unit, int latest);
    void goToSlot(int row);
    void goToUnit(int rank, int column);
    void highlightChecks(const std::vector<Highlight>& stretches, const QString& caption);

    ViewState& state_;
    BackgroundJob job_;
    std::optional<RunPlan> plan_;
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
