#pragma once

#include "app/gui/models/session.h"

#include <QAbstractTableModel>

#include <optional>

namespace bubblescope::gui {

/// Bubbles of one step, with a row per rank and position that has a bubble (executed, observed after consolidation, or
/// in closed form), and a total per rank. Read-only view of a session.
class BubbleTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { RankColumn, PositionColumn, AsRun, Observed, Form, Difference, Percent, Expression, ColumnCount };
    /// Role for sort keys: integer nanoseconds, fractions or ranks.
    static constexpr int kSortRole = Qt::UserRole;
    /// Role that is true for the total of a rank.
    static constexpr int kTotalRole = Qt::UserRole + 1;

    explicit BubbleTableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    /// `step` is an index in Run::steps. A null session clears the table.
    void show(SessionPtr session, int step);
    [[nodiscard]] bool shows(const SessionPtr& session, int step) const { return session == session_ && step == step_; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// Longest executed bubble at the rank and position of the row, or the rank's wait for the other replicas. None for
    /// totals and for positions without executed bubbles.
    [[nodiscard]] ItemRef longestBubble(int row) const;
    /// Time range from the first to the last executed bubble of the row; for a total, the complete step.
    [[nodiscard]] TimeRange extent(int row) const;
    [[nodiscard]] int rankOf(int row) const;
    /// Row that includes `bubble`; −1 if the bubble belongs to another step.
    [[nodiscard]] int rowOf(const ItemRef& bubble) const;

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
