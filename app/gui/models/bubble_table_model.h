#pragma once

#include "app/gui/models/column_model.h"
#include "app/gui/models/session.h"

#include <optional>

namespace bubblescope::gui {

/// Bubbles of one step, with a row per rank and position that has a bubble (executed, observed after consolidation, or
/// in closed form), and a total per rank. Read-only view of a session.
class BubbleTableModel : public ColumnModel {
    Q_OBJECT

public:
    enum { RankColumn, PositionColumn, AsRun, Observed, Form, Difference, Percent, Expression };
    /// Role that is true for the total of a rank.
    static constexpr int kTotalRole = Qt::UserRole + 1;

    using ColumnModel::ColumnModel;

    /// `step` is an index in Run::steps. A null session clears the table.
    void show(SessionPtr session, int step);
    [[nodiscard]] bool shows(const SessionPtr& session, int step) const { return session == session_ && step == step_; }

    /// Longest executed bubble at the row's rank and position, or the rank's wait for the other replicas. None for
    /// totals and for positions without executed bubbles.
    [[nodiscard]] ItemRef longestBubble(int row) const;
    /// Time range from the first to the last executed bubble of the row; the complete step for a total.
    [[nodiscard]] TimeRange extent(int row) const;
    [[nodiscard]] int rankOf(int row) const;
    /// Row that includes `bubble`; −1 if the bubble belongs to another step.
    [[nodiscard]] int rowOf(const ItemRef& bubble) const;

protected:
    [[nodiscard]] std::size_t rows() const override { return rows_.size(); }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    struct Row {
        int rank = 0;
        std::optional<Position> position; ///< none for the total of the rank and for the wait
        bool wait = false;                ///< true for the rank's wait for the other replicas after its step
        TimeNs as_run{0};
        TimeNs observed{0};
        std::optional<TimeNs> form;
        QString expression;
        QString domain;
    };

    void addRank(const StepAnalysis& analysis, const RankAccount& account);
    [[nodiscard]] ItemRef replicaWait(int rank) const { return {ItemKind::ReplicaWait, step_, rank, 0}; }
    [[nodiscard]] QString text(const Row& row, int column) const;
    [[nodiscard]] QVariant raw(const Row& row, int column) const;

    SessionPtr session_;
    int step_ = -1;
    std::vector<Row> rows_;
};

} // namespace bubblescope::gui
