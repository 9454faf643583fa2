#pragma once

#include "app/gui/live/live_snapshot.h"

#include <QAbstractTableModel>

namespace bubblescope::gui {

/// What happened in a watched run, the latest first.
class LiveAlertModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { StepColumn, SeverityColumn, TextColumn, ColumnCount };
    static constexpr int kSeverityRole = Qt::UserRole;

    explicit LiveAlertModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    /// Rows that are there stay: only what is new is told as inserted, what is forgotten as removed.
    void show(LiveSnapshotPtr picture);
    [[nodiscard]] const LiveAlert& at(int row) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    LiveSnapshotPtr picture_;
    std::vector<LiveAlert> alerts_; ///< those of the rows, the oldest first
};

/// The ranks of a watched run and how they are, by replica and rank.
class LiveRankModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { RankColumn, StateColumn, StepColumn, RecordsColumn, LostColumn, HostColumn, ColumnCount };
    static constexpr int kStateRole = Qt::UserRole; ///< live::RankState

    explicit LiveRankModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    void show(LiveSnapshotPtr picture);
    [[nodiscard]] const live::LiveRank& at(int row) const { return picture_->ranks[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    LiveSnapshotPtr picture_;
};

} // namespace bubblescope::gui
