#pragma once

#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/view_state.h"
#include "app/gui/theme/theme.h"

#include <QWidget>

class QLabel;
class QPushButton;
class QScrollArea;
class QSortFilterProxyModel;
class QTableView;

namespace bubblescope::gui {

class FillWhenVisible;

/// Table of anomalies, the most costly first, with details, evidence and a suggestion for the selected anomaly.
/// Activating an anomaly shows it on the timeline.
class AnomalyPanel : public QWidget {
    Q_OBJECT

public:
    AnomalyPanel(ViewState& state, ThemeManager& themes, QWidget* parent = nullptr);

    /// Updates the table if the panel is hidden, and returns the table.
    [[nodiscard]] QTableView& table();
    /// Selects the finding at this index of the report.
    void choose(std::size_t finding);

signals:
    /// Emitted when the user requests a prediction of the step time without the anomaly; see changeFor().
    void whatIfRequested(const QString& change);

private:
    void addActions();
    QWidget* buildDetails();
    void showSession();
    void showDetails();
    void applyTheme();
    void go();
    [[nodiscard]] const Anomaly* chosen() const;

    ViewState& state_;
    ThemeManager& themes_;
    AnomalyModel* model_;
    QSortFilterProxyModel* sorted_;
    QTableView* table_;
    FillWhenVisible* fill_;
    QScrollArea* details_ = nullptr;
    QLabel* title_ = nullptr;
    QLabel* message_ = nullptr;
    QLabel* seen_ = nullptr;
    QLabel* evidence_ = nullptr;
    QLabel* suggestion_ = nullptr;
    QPushButton* go_ = nullptr;
    QPushButton* ask_ = nullptr;
};

} // namespace bubblescope::gui
