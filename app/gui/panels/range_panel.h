#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/range_table.h"
#include "app/gui/models/view_state.h"
#include "app/gui/panels/widgets.h"

#include <QWidget>

#include <optional>

class QComboBox;
class QLabel;
class QSortFilterProxyModel;
class QTableView;
class QToolButton;

namespace bubblescope::gui {

/// Totals for the selected time range (ViewState::measured()) by kind, op, rank, stage or kernel. Activating a row
/// shows the longest item of that row.
class RangePanel : public QWidget {
    Q_OBJECT

public:
    explicit RangePanel(ViewState& state, QWidget* parent = nullptr);

    [[nodiscard]] const RangeTableModel& model() const { return *model_; }
    [[nodiscard]] QComboBox& groups() { return *groups_; }
    [[nodiscard]] QComboBox& ranks() { return *ranks_; }

signals:
    /// Emitted when the table is up to date.
    void filled();

private:
    void fillRanks();
    /// Line of the selected rank; none if all ranks are included.
    [[nodiscard]] std::optional<int> chosenLine() const;
    void fill();
    void show(RangeTable table, const TimeRange& range, RangeGroup group);
    [[nodiscard]] QString titleOf(const TimeRange& range) const;
    void go(const QModelIndex& index);

    ViewState& state_;
    BackgroundJob job_;
    RangeTableModel* model_;
    QSortFilterProxyModel* sorted_;
    QTableView* table_;
    QComboBox* groups_;
    QComboBox* ranks_;
    QLabel* title_;
    QToolButton* zoom_;
    QToolButton* save_;
    FillWhenVisible* fill_;
};

} // namespace bubblescope::gui
