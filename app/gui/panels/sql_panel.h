#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/query_rows_model.h"
#include "app/gui/models/view_state.h"

#include <QWidget>

#include <set>
#include <string>

class QLabel;
class QModelIndex;
class QPlainTextEdit;
class QPushButton;
class QSortFilterProxyModel;
class QTableView;

namespace bubblescope::gui {

/// Runs SQL queries on the open trace, like `bubblescope query`. The result is a table that can be sorted, copied and
/// saved. Activating a row that contains a slice or a time shows it on the timeline.
class SqlPanel : public QWidget {
    Q_OBJECT

public:
    /// `state` must outlive the panel.
    explicit SqlPanel(ViewState& state, QWidget* parent = nullptr);

    /// Runs the current query in the background.
    void run();

signals:
    /// Emitted when the rows, or an error, are available; for tests.
    void answered();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Rows {
        report::DataTable table;
        std::set<std::string> read; ///< tables that the query reads
        TimeNs took{0};
    };
    static Result<Rows> ask(const Session& session, const std::string& sql, const JobControl& control);

    [[nodiscard]] QWidget* makeButtons();
    void addExamples(QPushButton& button);
    void makeTable();
    void showRows(Result<Rows> rows);
    void clear();
    void goTo(const QModelIndex& index);
    /// Slice that a row refers to; none if the row does not contain a slice.
    [[nodiscard]] ItemRef sliceIn(int row) const;

    ViewState& state_;
    BackgroundJob job_;
    QPlainTextEdit* text_;
    QPushButton* run_;
    QPushButton* stop_;
    QLabel* status_;
    QueryRowsModel* model_;
    QSortFilterProxyModel* sorted_;
    QTableView* table_;
    std::set<std::string> read_; ///< tables from which the displayed rows were read
};

} // namespace bubblescope::gui
