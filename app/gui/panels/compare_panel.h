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

/// The state of a ComparePanel, to be restored later in another tab or by a rebuilt panel.
struct SavedComparison {
    QStringList paths;        ///< files of the other run; empty = no comparison
    ComparisonPtr comparison; ///< null if it was not ready
    bool below = false;       ///< true if the other run was drawn below
};

/// Compares the open run with another one, measure by measure, sorted by cost, with filters. The other run's step with
/// the same number can be drawn below the open run's, on the same axis; ops that differ are coloured. A click shows a
/// measure's places on the timeline.
class ComparePanel : public QWidget {
    Q_OBJECT

public:
    ComparePanel(ViewState& state, RunLoader loader, const ThemeManager& themes, QWidget* parent = nullptr);

    /// A run that can be compared with: a name and its paths.
    struct Choice {
        QString name;
        QStringList paths;
    };
    struct Choices {
        QList<Choice> open;
        QList<Choice> recent;
    };
    /// Choices offered in addition to files and folders.
    void setChoices(std::function<Choices()> choices) { choices_ = std::move(choices); }
    /// Asks the user for the other run.
    void choose();
    /// Loads in the background; a newer call supersedes it. Requires an open trace; if that has no pipeline, the
    /// activity of devices is compared.
    void compareWith(const QStringList& paths);
    [[nodiscard]] const ComparisonPtr& comparison() const { return comparison_; }
    [[nodiscard]] SavedComparison state() const;
    /// Restores the state for the session that is open now; compares again if the comparison was not ready. An empty
    /// state clears the panel.
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
    std::map<int, std::shared_ptr<const ReferenceStep>> parts_; ///< steps of the other run, by the open run's step
    ComparisonModel* model_;
    SortedChanges* sorted_;
    ReportTableModel* activity_; ///< for traces without a pipeline
    QTableView* table_;
    QLabel* headline_;
    QPushButton* choose_;
    QCheckBox* below_;
    QCheckBox* align_; ///< aligns the step below at the selected op instead of at its start
    QComboBox* kinds_;
    QLineEdit* words_;
    QCheckBox* beyond_;
    QLabel* differences_; ///< legend of the changes of ops drawn below, with counts
};

} // namespace bubblescope::gui
