#pragma once

#include "app/gui/models/session.h"

#include <QDialog>

#include <vector>

class QTableWidget;

namespace bubblescope::gui {

/// Dialog for assigning ranks to files, or to the processes in a file. Shows the current ranks and their sources. If
/// the user changes a row, rules are created for all changed and all guessed rows, so that the displayed ranks will be
/// used.
class RanksDialog : public QDialog {
    Q_OBJECT

public:
    /// `stated` are the existing rules.
    RanksDialog(const Session& session, std::vector<RankRule> stated, QWidget* parent = nullptr);

    /// Returns the existing rules with the user's changes.
    [[nodiscard]] std::vector<RankRule> rules() const;

signals:
    /// Requests that the trace be loaded again with these rules.
    void stated(const std::vector<bubblescope::RankRule>& rules);

private:
    struct Row {
        std::string pattern; ///< matches only this file or process
        int rank = 0;        ///< current rank
        bool guessed = false;
    };
    void addRow(const TraceFile& file, std::int64_t rank);
    void lockAmbiguous();

    std::vector<RankRule> stated_;
    std::vector<Row> rows_;
    QTableWidget* table_;
};

} // namespace bubblescope::gui
