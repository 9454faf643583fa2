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

/// Watches a run for the views. A worker reads new records as they arrive, and delivers snapshots one at a time. While
/// following, the views show the latest session, with the newest step on the right. Moving the view away or selecting
/// something freezes the session, while snapshots continue.
///
/// Belongs to the GUI thread and never blocks it. While another tab is in front, the watch is parked: it continues, but
/// the views of the watched run show nothing. The watch ends when another session replaces its own.
class LiveController : public QObject {
    Q_OBJECT

public:
    /// `state` must outlive the controller.
    explicit LiveController(ViewState& state, QObject* parent = nullptr);
    ~LiveController() override;

    /// Ends the previous watch. failed() is emitted if the target cannot be watched.
    void start(const LiveTarget& target, LiveFeed::Clock clock = {});
    /// Ends the watch; the views keep the last session.
    void stop();
    /// Ends the watch and discards its data, for a tab that is being closed.
    void forget();

    [[nodiscard]] bool active() const { return active_; }
    [[nodiscard]] const LiveTarget& target() const { return target_; }
    /// The latest snapshot; null before the first. After a watch, the last one remains until another session is opened.
    [[nodiscard]] const LiveSnapshotPtr& snapshot() const { return snapshot_; }
    [[nodiscard]] bool following() const { return following_; }
    void setFollowing(bool following);
    /// While parked, another session may be shown without ending the watch, and snapshots do not reach the views.
    void setParked(bool parked);
    [[nodiscard]] bool parked() const { return parked_; }
    /// The content for the views of the watched run: snapshot(), or null while parked.
    [[nodiscard]] LiveSnapshotPtr shown() const { return parked_ ? nullptr : snapshot_; }
    /// The number of steps that are newer than those shown.
    [[nodiscard]] std::int64_t stepsBehind() const;
    /// Shows the step with this number if it is still available in full, and freezes the view unless it is the newest
    /// step. Returns false if it is not available.
    bool showStep(int number);

signals:
    void activeChanged(bool active);
    void followingChanged(bool following);
    void parkedChanged(bool parked);
    /// snapshot() has changed.
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
    QTimer pause_; ///< delays reading, because ranks write continuously and records are collected in the meantime
    QTimer idle_;
    LiveTarget target_;
    LiveSnapshotPtr snapshot_;
    std::weak_ptr<const Session> shown_; ///< the session that this controller has passed to the views
    std::int64_t next_alert_ = 0;        ///< number of the first alert not yet emitted
    TimeNs span_{0};                     ///< length of the range shown while following; 0 = default
    bool active_ = false;
    bool following_ = true;
    bool parked_ = false;
    bool showing_ = false; ///< true while a new snapshot moves the view
};

} // namespace bubblescope::gui
