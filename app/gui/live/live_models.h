#pragma once

#include "app/gui/live/live_causes.h"
#include "app/gui/models/column_model.h"

namespace bubblescope::gui {

/// State of a watch according to its last snapshot.
enum class LiveState : std::uint8_t {
    Waiting,   ///< waiting for the first record
    Recording, ///< the run is in progress
    Ended,     ///< all ranks have ended
    Failed,    ///< all ranks have ended, but some of them have died
    Stopped,   ///< the run is no longer watched
};

/// `snapshot` may be null.
[[nodiscard]] LiveState liveState(const LiveSnapshot* snapshot, bool active);
[[nodiscard]] QString liveStateText(LiveState state);
[[nodiscard]] QString rankStateText(live::RankState state);
/// Name of a rank, such as "rank 2", or "replica 1, rank 2" in a run with replicas.
[[nodiscard]] QString liveRankText(const live::LiveRank& rank, const LiveSnapshot& snapshot);
/// Number of ranks by state, such as "3 running, 1 gone".
[[nodiscard]] QString ranksText(const LiveSnapshot& snapshot);

/// Number of records that were written or expected but are not part of any step.
[[nodiscard]] std::int64_t lostRecords(const live::LiveCounts& counts);
/// Number of records, such as "12,345 records, none lost".
[[nodiscard]] QString recordsText(const LiveSnapshot& snapshot);
/// One line per count.
[[nodiscard]] QString recordsDetails(const LiveSnapshot& snapshot);

[[nodiscard]] Severity severityOf(const LiveAlert& alert);
[[nodiscard]] QString alertText(const LiveAlert& alert, const LiveSnapshot& snapshot);
/// A short description, such as "straggler, rank 2".
[[nodiscard]] QString shortAlertText(const LiveAlert& alert, const LiveSnapshot& snapshot);
/// True while the alert is open. Alerts about mismatches and dead ranks are never closed.
[[nodiscard]] inline bool isOpen(const LiveAlert& alert) {
    return !alert.resolved_at;
}
/// Step in which the event started, or the step after which it was reported if the start is unknown.
[[nodiscard]] int beganAt(const LiveAlert& alert);

/// Causes of the alerts of a watched run, the most recent first.
class LiveCauseModel : public ColumnModel {
    Q_OBJECT

public:
    enum { StepsColumn, CountColumn, SeverityColumn, TextColumn };
    static constexpr int kSeverityRole = Qt::UserRole;

    using ColumnModel::ColumnModel;

    /// Updates the rows: inserts new causes and removes causes that have no alerts left. Other rows are unchanged.
    void show(LiveSnapshotPtr snapshot);
    [[nodiscard]] const LiveCause& at(int row) const { return causes_[static_cast<std::size_t>(row)]; }

protected:
    [[nodiscard]] std::size_t rows() const override { return causes_.size(); }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    [[nodiscard]] QString stepsText(const LiveCause& cause) const;
    [[nodiscard]] QString text(const LiveCause& cause) const;
    [[nodiscard]] QString allText(const LiveCause& cause) const;

    LiveSnapshotPtr snapshot_;
    std::vector<LiveCause> causes_; ///< causes of the snapshot, by row
};

/// Ranks of a watched run and their states, by replica and rank.
class LiveRankModel : public ColumnModel {
    Q_OBJECT

public:
    enum { RankColumn, StateColumn, StepColumn, RecordsColumn, LostColumn, HostColumn };
    static constexpr int kStateRole = Qt::UserRole; ///< role for live::RankState

    using ColumnModel::ColumnModel;

    void show(LiveSnapshotPtr snapshot);
    [[nodiscard]] const live::LiveRank& at(int row) const { return snapshot_->ranks[static_cast<std::size_t>(row)]; }

protected:
    [[nodiscard]] std::size_t rows() const override { return snapshot_ ? snapshot_->ranks.size() : 0; }
    [[nodiscard]] std::vector<Column> columns() const override;
    [[nodiscard]] QVariant cell(std::size_t row, int column, int role) const override;

private:
    LiveSnapshotPtr snapshot_;
};

} // namespace bubblescope::gui
