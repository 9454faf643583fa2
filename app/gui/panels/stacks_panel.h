#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/range_table.h"
#include "app/gui/models/slice_list.h"
#include "app/gui/models/stack_tree.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

#include <optional>
#include <vector>

class QLabel;
class QModelIndex;
class QSortFilterProxyModel;
class QTableView;
class QTabWidget;

namespace bubblescope::gui {

class FillWhenVisible;
class FlameGraph;
class Histogram;

/// Stacks in the measured range, the selected slice or op, the step, or the complete trace. The stacks are shown as a
/// flame graph and as a list of names with callers and callees. For one name, the panel lists all slices with a
/// histogram of their durations. Selected items are marked on the timeline.
class StacksPanel : public QWidget {
    Q_OBJECT

public:
    /// `state` and `themes` must outlive the panel.
    StacksPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// Shows the callers, callees and slices of a name.
    void choose(StringId name);
    [[nodiscard]] FlameGraph& graph() { return *graph_; }
    [[nodiscard]] Histogram& histogram() { return *histogram_; }

signals:
    /// Emitted when the stacks or the slices of a name are complete; for tests.
    void filled();

private:
    /// Tracks and time range whose stacks are shown.
    struct Scope {
        TimeRange range;
        std::vector<TrackId> tracks;
        QString title;
    };
    struct Table {
        QTableView* view = nullptr;
        RangeTableModel* model = nullptr;
        QSortFilterProxyModel* sorted = nullptr;
    };
    [[nodiscard]] Table makeTable(const char* name, const QString& title);
    [[nodiscard]] QWidget* makeNames();
    [[nodiscard]] QWidget* makeCalls();
    [[nodiscard]] QWidget* makeSlices();
    [[nodiscard]] Scope scope() const;
    void fill();
    void showTree(StackTree tree);
    void showSlices(std::vector<SliceId> slices);
    void brush(TimeNs shortest, TimeNs longest);
    void chooseRow(const Table& table, const QModelIndex& index);
    void goTo(const QModelIndex& index);
    [[nodiscard]] QString toolTipOf(int frame) const;

    ViewState& state_;
    BackgroundJob job_;
    BackgroundJob slices_job_;
    StackTree tree_;
    std::optional<StringId> name_;
    std::vector<SliceId> slices_; ///< slices with the selected name
    bool goes_ = false;           ///< true while the panel itself moves the timeline to a slice
    QLabel* title_;
    FlameGraph* graph_;
    QTabWidget* tabs_;
    Table names_;
    Table callers_;
    Table callees_;
    QLabel* calls_title_ = nullptr;
    QLabel* slices_title_ = nullptr;
    Histogram* histogram_ = nullptr;
    SliceListModel* list_ = nullptr;
    QSortFilterProxyModel* sorted_list_ = nullptr;
    QTableView* list_view_ = nullptr;
    FillWhenVisible* fill_;
};

} // namespace bubblescope::gui
