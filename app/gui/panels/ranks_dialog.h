#pragma once

#include "app/gui/models/session.h"

#include <QDialog>

#include <vector>

class QTableWidget;

namespace bubblescope::gui {

/// Asks which rank wrote which file, with a row for each file, or for each process in a file. Shows the ranks currently
/// used and where they come from. If the user changes any row, rules are made for the changed rows and for those that
/// were guessed, so that the ranks shown are those that will be used.
class RanksDialog : public QDialog {
    Q_OBJECT

public:
    /// `stated` are the earlier rules.
    RanksDialog(const Session& session, std::vector<RankRule> stated, QWidget* parent = nullptr);

    /// The earlier rules with the user's changes.
    [[nodiscard]] std::vector<RankRule> rules() const;

signals:
    /// The trace should be loaded again with these rules.
    void stated(const std::vector<bubblescope::RankRule>& rules);

private:
    struct Row {
        std::string pattern; ///< matches only this file or process
        int rank = 0;        ///< the rank currently used
        bool guessed = false;
    };
    void addRow(const TraceFile& file, std::int64_t rank);
    void lockAmbiguous();

    std::vector<RankRule> stated_;
    std::vector<Row> rows_;
    QTableWidget* table_;
};

} // namespace bubblescope::gui
