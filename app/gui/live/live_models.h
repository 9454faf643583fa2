#pragma once

#include "app/gui/live/live_causes.h"

#include <QAbstractTableModel>
#include <QString>

namespace bubblescope::gui {

/// The state of a watch, derived from its last snapshot.
enum class LiveState : std::uint8_t {
    Waiting,   ///< waiting for the first record
    Recording, ///< the run is in progress
    Ended,     ///< all ranks have ended
    Failed,    ///< as Ended, but some ranks are gone
    Stopped,   ///< the run is no longer watched
};

/// `snapshot` may be null.
[[nodiscard]] LiveState liveState(const LiveSnapshot* snapshot, bool active);
[[nodiscard]] QString liveStateText(LiveState state);
[[nodiscard]] QString rankStateText(live::RankState state);
/// "rank 2", or "replica 1, rank 2" in a run with replicas.
[[nodiscard]] QString liveRankText(const live::LiveRank& rank, const LiveSnapshot& snapshot);
/// "3 running, 1 gone".
[[nodiscard]] QString ranksText(const LiveSnapshot& snapshot);

/// Records that were written, or should have been, but are not in any step.
[[nodiscard]] std::int64_t lostRecords(const live::LiveCounts& counts);
/// "12,345 records, none lost".
[[nodiscard]] QString recordsText(const LiveSnapshot& snapshot);
/// One line per count.
[[nodiscard]] QString recordsDetails(const LiveSnapshot& snapshot);

[[nodiscard]] Severity severityOf(const LiveAlert& alert);
[[nodiscard]] QString alertText(const LiveAlert& alert, const LiveSnapshot& snapshot);
/// A short description: "straggler, rank 2".
[[nodiscard]] QString shortAlertText(const LiveAlert& alert, const LiveSnapshot& snapshot);
/// True while the alert is open. Mismatches of checks and lost ranks never end.
[[nodiscard]] inline bool isOpen(const LiveAlert& alert) {
    return !alert.resolved_at;
}
/// The step at which the event began, if known; it may be reported some steps later.
[[nodiscard]] int beganAt(const LiveAlert& alert);

/// The causes of the alerts of a watched run, the latest first.
class LiveCauseModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { StepsColumn, CountColumn, SeverityColumn, TextColumn, ColumnCount };
    static constexpr int kSeverityRole = Qt::UserRole;

    explicit LiveCauseModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    /// Existing rows stay: new causes are inserted, and those whose alerts were all dropped are removed.
    void show(LiveSnapshotPtr snapshot);
    [[nodiscard]] const LiveCause& at(int row) const { return causes_[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] QString stepsText(const LiveCause& cause) const;
    [[nodiscard]] QString text(const LiveCause& cause) const;
    [[nodiscard]] QString allText(const LiveCause& cause) const;

    LiveSnapshotPtr snapshot_;
    std::vector<LiveCause> causes_; ///< of the snapshot, by row
};

/// The ranks of a watched run and their states, by replica and rank.
class LiveRankModel : public QAbstractTableModel {
    Q_OBJECT

public:
    enum Column { RankColumn, StateColumn, StepColumn, RecordsColumn, LostColumn, HostColumn, ColumnCount };
    static constexpr int kStateRole = Qt::UserRole; ///< live::RankState

    explicit LiveRankModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    void show(LiveSnapshotPtr snapshot);
    [[nodiscard]] const live::LiveRank& at(int row) const { return snapshot_->ranks[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    LiveSnapshotPtr snapshot_;
};

} // namespace bubblescope::gui
