#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/comparison.h"
#include "app/gui/models/report_table_model.h"
#include "app/gui/theme/theme.h"

#include <QStringList>
#include <QWidget>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace bubblescope::gui {

/// State of a ComparePanel, which another tab or a recreated panel can restore.
struct SavedComparison {
    QStringList paths;        ///< files of the other run; empty = no comparison
    ComparisonPtr comparison; ///< null if not yet available
    bool below = false;       ///< true if the other run was drawn below the open run
};

/// Table of the differences between the open run and another run, sorted by cost, with filters. Below the open run,
/// optionally draws the other run's step with the same number and colours ops that differ. A click on a measure shows
/// its items on the timeline.
class ComparePanel : public QWidget {
    Q_OBJECT

public:
    ComparePanel(ViewState& state, RunLoader loader, const ThemeManager& themes, QWidget* parent = nullptr);

    /// A run available for comparison: a name and its paths.
    struct Choice {
        QString name;
        QStringList paths;
    };
    struct Choices {
        QList<Choice> open;
        QList<Choice> recent;
    };
    /// Function that returns choices to offer in addition to files and folders.
    void setChoices(std::function<Choices()> choices) { choices_ = std::move(choices); }
    /// Opens a dialog to choose the other run.
    void choose();
    /// Loads the other run in the background; a later call cancels the load. Requires an open trace. For traces without
    /// a pipeline, compares device activity.
    void compareWith(const QStringList& paths);
    [[nodiscard]] const ComparisonPtr& comparison() const { return comparison_; }
    [[nodiscard]] SavedComparison state() const;
    /// Restores the state for the current session; restarts an incomplete comparison. An empty state clears the
    /// panel.
    void restore(const SavedComparison& saved);

signals:
    void compared();
    void failed(const bubblescope::Error& error);
    void fileRequested();
    void folderRequested();

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void finish(Result<ComparisonPtr> result);
    void showActivity(Result<ActivityComparisonPtr> result);
    void refuse(const Error& error);
    void take(ComparisonPtr comparison, bool below);
    void clear();
    void showOther(bool on);
    void updateReference();
    void followRange();
    [[nodiscard]] const std::shared_ptr<const ReferenceStep>& partOf(int step);
    [[nodiscard]] std::vector<std::shared_ptr<const ReferenceStep>> partsAround();
    void showFilter();
    void fillChoices();
    [[nodiscard]] std::optional<TimeNs> shiftToSelection(const ReferenceStep& part) const;
    void goTo(const QModelIndex& index);
    [[nodiscard]] QString headline() const;
    [[nodiscard]] QString notes() const;

    ViewState& state_;
    const ThemeManager& themes_;
    RunLoader loader_;
    std::function<Choices()> choices_;
    BackgroundJob job_;
    QStringList paths_;
    ComparisonPtr comparison_;
    std::map<int, std::shared_ptr<const ReferenceStep>> parts_; ///< steps of the other run, by step of the open run
    ComparisonModel* model_;
    SortedChanges* sorted_;
    ReportTableModel* activity_; ///< for traces without a pipeline
    QTableView* table_;
    QLabel* headline_;
    QPushButton* choose_;
    QCheckBox* below_;
    QCheckBox* align_; ///< aligns the steps at the selected op instead of at their start
    QComboBox* kinds_;
    QLineEdit* words_;
    QCheckBox* beyond_;
    QLabel* differences_; ///< legend for the changed ops in the lower step, with counts
};

} // namespace bubblescope::gui
