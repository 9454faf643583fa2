#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/live/live_feed.h"
#include "app/gui/models/view_state.h"

#include <QObject>
#include <QSocketNotifier>
#include <QTimer>

#include <memory>
#include <optional>

namespace bubblescope::gui {

/// Watches a run and updates the views. A worker thread reads new records as they arrive and delivers one snapshot
/// after another. In following mode, the views show the latest session, with the newest step on the right. If the user
/// moves the view or selects an item, the displayed session is frozen, but snapshots continue to arrive.
///
/// Belongs to the GUI thread and never blocks it. While another tab is selected, the watch is parked: recording
/// continues, but the views of the watched run are empty. The watch ends when another session replaces the watched one.
class LiveController : public QObject {
    Q_OBJECT

public:
    /// `state` must outlive the controller.
    explicit LiveController(ViewState& state, QObject* parent = nullptr);
    ~LiveController() override;

    /// Ends the previous watch and starts a new one. Emits failed() if the target cannot be watched.
    void start(const LiveTarget& target, LiveFeed::Clock clock = {});
    /// Ends the watch; the views keep the last session.
    void stop();
    /// Ends the watch and discards its data, for a tab that is being closed.
    void forget();

    [[nodiscard]] bool active() const { return active_; }
    [[nodiscard]] const LiveTarget& target() const { return target_; }
    /// The latest snapshot; null before the first. Kept after the watch ends, until another session is opened.
    [[nodiscard]] const LiveSnapshotPtr& snapshot() const { return snapshot_; }
    [[nodiscard]] bool following() const { return following_; }
    void setFollowing(bool following);
    /// While parked, the views receive no snapshots and may show another session without ending the watch.
    void setParked(bool parked);
    [[nodiscard]] bool parked() const { return parked_; }
    /// Content for the views of the watched run: snapshot(), or null while parked.
    [[nodiscard]] LiveSnapshotPtr shown() const { return parked_ ? nullptr : snapshot_; }
    /// Number of steps that are newer than the displayed ones.
    [[nodiscard]] std::int64_t stepsBehind() const;
    /// Shows the step with this number, and stops following unless it is the newest step. Returns false if the ops of
    /// the step are no longer available.
    bool showStep(int number);

signals:
    void activeChanged(bool active);
    void followingChanged(bool following);
    void parkedChanged(bool parked);
    /// Emitted when snapshot() has changed.
    void changed();
    void alerted(const bubblescope::gui::LiveAlert& alert);
    void failed(const bubblescope::Error& error);

private:
    void turn();
    void take(LiveSnapshotPtr snapshot);
    void rest();
    void wake();
    void show(bool again);
    void watchRange();
    void watchSession();
    void end();
    [[nodiscard]] TimeRange followed(const Session& session) const;

    ViewState& state_;
    BackgroundJob job_;
    std::shared_ptr<LiveFeed> feed_; ///< shared with the running job
    std::optional<QSocketNotifier> files_;
    std::optional<QSocketNotifier> streams_;
    QTimer pause_; ///< delays the next read until there are several records
    QTimer idle_;
    LiveTarget target_;
    LiveSnapshotPtr snapshot_;
    std::weak_ptr<const Session> shown_; ///< session that this controller last passed to the views
    std::int64_t next_alert_ = 0;        ///< number of the first alert that has not been emitted
    TimeNs span_{0};                     ///< length of the visible time range in following mode; 0 = default
    bool active_ = false;
    bool following_ = true;
    bool parked_ = false;
    bool showing_ = false; ///< true while a new snapshot moves the view
};

} // namespace bubblescope::gui
