#pragma once

#include "app/gui/models/session.h"

#include <QDialog>

#include <vector>

class QTableWidget;

namespace bubblescope::gui {

/// Asks which rank wrote which file: a row for each file, or each process in one. Shows the ranks that are used now and
/// where they come from. Rows that the user changes are stated, and with them those
/// that were guessed, so that the ranks shown are those used.
class RanksDialog : public QDialog {
    Q_OBJECT

public:
    /// `stated`: what was stated before.
    RanksDialog(const Session& session, std::vector<RankRule> stated, QWidget* parent = nullptr);

    /// What was stated before, with what was changed.
    [[nodiscard]] std::vector<RankRule> rules() const;

signals:
    /// Load again with these rules.
    void stated(const std::vector<bubblescope::RankRule>& rules);

private:
    struct Row {
        std::string pattern; ///< that matches this file or process alone
        int rank = 0;        ///< that is used now
        bool guessed = false;
    };
    void addRow(const TraceFile& file, std::int64_t rank);
    void lockAmbiguous();

    std::vector<RankRule> stated_;
    std::vector<Row> rows_;
    QTableWidget* table_;
};

} // namespace bubblescope::gui
