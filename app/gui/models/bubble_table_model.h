#pragma once

#include "app/gui/models/session.h"

#include <QAbstractTableModel>

#include <optional>

namespace bubblescope::gui {

/// The bubbles of one step: one row for each rank and position with a bubble (as run, observed after consolidation, or
/// in closed form), and a total for each rank. Read-only view of a session.
class BubbleTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { RankColumn, PositionColumn, AsRun, Observed, Form, Difference, Percent, Expression, ColumnCount };
    /// Values for sorting: integer nanoseconds, fraction, or rank.
    static constexpr int kSortRole = Qt::UserRole;
    /// True for a rank's total.
    static constexpr int kTotalRole = Qt::UserRole + 1;

    explicit BubbleTableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    /// `step` is an index in Run::steps; a null session empties the table.
    void show(SessionPtr session, int step);
    [[nodiscard]] bool shows(const SessionPtr& session, int step) const { return session == session_ && step == step_; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// The longest executed bubble at the row's rank and position, or the rank's wait for the other replicas; none for
    /// totals and for positions that had no bubble when run.
    [[nodiscard]] ItemRef longestBubble(int row) const;
    /// From the start of the first to the end of the last executed bubble of the row; for a total, the step.
    [[nodiscard]] TimeRange extent(int row) const;
    [[nodiscard]] int rankOf(int row) const;
    /// The row that includes `bubble`; −1 if the bubble belongs to another step.
    [[nodiscard]] int rowOf(const ItemRef& bubble) const;

private:
    struct Row {
        int rank = 0;
        std::optional<Position> position; ///< none for the rank's total, and for its wait
        bool wait = false;                ///< waiting for the other replicas, after the rank's step
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
