#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/comparison.h"
#include "app/gui/theme/theme.h"

#include <QStringList>
#include <QWidget>

class QCheckBox;
class QLabel;
class QPushButton;
class QSortFilterProxyModel;
class QTableView;

namespace bubblescope::gui {

/// What a panel compared, to be shown again later: on another tab, or by a panel that is made anew.
struct KeptComparison {
    QStringList paths;        ///< of the other run; none = nothing was compared
    ComparisonPtr comparison; ///< null while it was not ready
    bool below = false;       ///< whether the other run was shown below
};

/// The open run beside another one, measure by measure, sorted by what the change costs; the other run's typical step
/// can be drawn below the open one's. A click shows on the timeline what a row speaks of.
class ComparePanel : public QWidget {
    Q_OBJECT

public:
    ComparePanel(ViewState& state, RunLoader loader, QWidget* parent = nullptr);

    /// Loads in the background; a newer call wins. Needs an open run.
    void compareWith(const QStringList& paths);
    [[nodiscard]] const ComparisonPtr& comparison() const { return comparison_; }
    [[nodiscard]] KeptComparison keep() const;
    /// Of the session that is now open; compares again where that was not ready. An empty one clears.
    void restore(const KeptComparison& kept);

signals:
    void compared();
    void failed(const bubblescope::Error& error);
    void fileRequested();

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void finish(Result<ComparisonPtr> result);
    void take(ComparisonPtr comparison, bool below);
    void clear();
    void showOther(bool on);
    void updateReference();
    void goTo(const QModelIndex& index);
    [[nodiscard]] QString headline() const;
    [[nodiscard]] QString notes() const;

    ViewState& state_;
    RunLoader loader_;
    BackgroundJob job_;
    QStringList paths_;
    ComparisonPtr comparison_;
    ComparisonModel* model_;
    QSortFilterProxyModel* sorted_;
    QTableView* table_;
    QLabel* headline_;
    QPushButton* choose_;
    QCheckBox* below_;
};

} // namespace bubblescope::gui
