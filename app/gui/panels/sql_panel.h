#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/query_rows_model.h"
#include "app/gui/models/view_state.h"

#include <QWidget>

#include <memory>
#include <set>
#include <string>

class QLabel;
class QModelIndex;
class QPlainTextEdit;
class QPushButton;
class QSortFilterProxyModel;
class QTableView;

namespace bubblescope::gui {

/// Asks the open trace in SQL, as `bubblescope query` does: the query, and its rows as a table that can be sorted,
/// copied and saved. A row that names a slice or a time leads to it on the timeline.
class SqlPanel : public QWidget {
    Q_OBJECT

public:
    /// Must outlive the panel.
    explicit SqlPanel(ViewState& state, QWidget* parent = nullptr);

    /// Runs the query that is typed, in the background.
    void run();

signals:
    /// The rows are there, or the reason why not: for tests.
    void answered();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Rows {
        report::DataTable table;
        std::set<std::string> read; ///< tables
        TimeNs took{0};
    };
    static Result<Rows> ask(const Session& session, const std::string& sql, const JobControl& control);

    [[nodiscard]] QWidget* makeButtons();
    void addExamples(QPushButton& button);
    void makeTable();
    void showRows(Result<Rows> rows);
    void clear();
    void goTo(const QModelIndex& index);
    /// The slice that a row names; none if it names none.
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
    std::set<std::string> read_; ///< tables that the rows shown are from
};

} // namespace bubblescope::gui
