#pragma once

#include "app/gui/charts/heat_map.h"
#include "app/gui/models/check_map.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme_manager.h"

#include <QWidget>

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
    [[nodiscard]] const CheckMap& map() const { return cells_; }

private:
    void refresh();
    void showMap();
    void showMismatches();
    [[nodiscard]] static HeatMap::Cell cellOf(const CheckMap::Cell& cell);
    void goTo(const ItemRef& item);
    void goToCell(int row, int column);

    ViewState& state_;
    CheckMap cells_;
    std::vector<std::size_t> mismatches_; ///< places in CheckLog::checks, a row each
    HeatMap* map_;
    QTableWidget* table_;
    FillWhenSeen* fill_;
};

} // namespace bubblescope::gui
