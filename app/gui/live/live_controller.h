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

/// Watches a run for the views: has a worker read what came whenever something did, and hands its snapshots on, one at
/// a time. While it follows, the views' session is the latest one, with the newest step at the right. Whoever moves the
/// view away from there, or selects something, freezes it: the session stays as it is, and the snapshots go on.
///
/// Lives on the GUI thread, which waits for nothing here. The watch ends when another session is opened.
class LiveController : public QObject {
    Q_OBJECT

public:
    /// `state` must outlive it.
    explicit LiveController(ViewState& state, QObject* parent = nullptr);
    ~LiveController() override;

    /// Ends what was watched before. failed() tells where that cannot be watched.
    void start(const LiveTarget& target, LiveFeed::Clock clock = {});
    /// What was seen stays in view.
    void stop();

    [[nodiscard]] bool active() const { return active_; }
    [[nodiscard]] const LiveTarget& target() const { return target_; }
    /// The latest; null before the first one. That of the last watch stays until something else is opened.
    [[nodiscard]] const LiveSnapshotPtr& snapshot() const { return snapshot_; }
    [[nodiscard]] bool following() const { return following_; }
    void setFollowing(bool following);
    /// While it is parked another session is in view, which does not end the watch, and snapshots stay out of the
    /// views.
    void setParked(bool parked);
    /// How many steps are newer than those in view.
    [[nodiscard]] std::int64_t stepsBehind() const;
    /// Shows the step of this number, if it is still there in full, and freezes unless it is the newest. False if not.
    bool showStep(int number);

signals:
    void activeChanged(bool active);
    void followingChanged(bool following);
    /// There is another snapshot().
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
    std::shared_ptr<LiveFeed> feed_; ///< shared with the job that runs
    std::optional<QSocketNotifier> files_;
    std::optional<QSocketNotifier> streams_;
    QTimer pause_; ///< many ranks write all the time: what they wrote meanwhile is read together
    QTimer idle_;
    LiveTarget target_;
    LiveSnapshotPtr snapshot_;
    std::weak_ptr<const Session> shown_; ///< that the views have from here
    std::int64_t next_alert_ = 0;        ///< that was not told
    TimeNs span_{0};                     ///< that is in view while following; 0 = what fits
    bool active_ = false;
    bool following_ = true;
    bool parked_ = false;
    bool showing_ = false; ///< the views move since a new snapshot is put in
};

} // namespace bubblescope::gui
