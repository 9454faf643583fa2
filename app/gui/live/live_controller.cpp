#include "app/gui/live/live_controller.h"

#include <QThreadPool>

#include <algorithm>
#include <utility>

namespace bubblescope::gui {

namespace {

constexpr int kTogetherMs = 60; ///< limits updates to about 15 snapshots per second
constexpr int kIdleMs = 200;    ///< interval for ending steps and reading files of other hosts
constexpr int kShownSteps = 2;  ///< number of steps that are initially visible
constexpr double kEndPadding = 0.015;

struct Opened {
    Result<std::shared_ptr<LiveFeed>> feed;
    LiveSnapshotPtr snapshot;
};

} // namespace

LiveController::LiveController(ViewState& state, QObject* parent) : QObject(parent), state_(state), job_(this) {
    pause_.setSingleShot(true);
    pause_.setInterval(kTogetherMs);
    idle_.setSingleShot(true);
    idle_.setInterval(kIdleMs);
    connect(&pause_, &QTimer::timeout, this, &LiveController::wake);
    connect(&idle_, &QTimer::timeout, this, &LiveController::turn);
    connect(&state_, &ViewState::sessionChanged, this, &LiveController::watchSession);
    connect(&state_.range(), &VisibleRange::changed, this, &LiveController::watchRange);
    connect(&state_, &ViewState::selectionChanged, this, [this] {
        if (!showing_ && !parked_ && active_ && state_.selection()) setFollowing(false);
    });
}

LiveController::~LiveController() {
    end();
}

void LiveController::start(const LiveTarget& target, LiveFeed::Clock clock) {
    end();
    target_ = target;
    snapshot_.reset();
    shown_.reset();
    next_alert_ = 0;
    span_ = TimeNs{0};
    active_ = true;
    following_ = true;
    showing_ = true;
    state_.setSession(nullptr);
    showing_ = false;
    job_.start(
        [target, clock = std::move(clock)](JobControl& control) {
            Opened opened{LiveFeed::open(target, clock), {}};
            if (opened.feed.ok()) opened.snapshot = opened.feed.value()->turn(control);
            return opened;
        },
        [this](Opened opened) {
            if (!opened.feed.ok()) {
                active_ = false;
                emit activeChanged(false);
                emit changed();
                emit failed(opened.feed.error());
                return;
            }
            feed_ = std::move(opened.feed).value();
            const auto notify = [this](std::optional<QSocketNotifier>& notifier, int descriptor) {
                if (descriptor < 0) return;
                notifier.emplace(descriptor, QSocketNotifier::Read);
                notifier->setEnabled(false);
                connect(&*notifier, &QSocketNotifier::activated, this, &LiveController::turn);
            };
            notify(files_, feed_->filesDescriptor());
            notify(streams_, feed_->streamsDescriptor());
            take(std::move(opened.snapshot));
        });
    emit activeChanged(true);
    emit followingChanged(true);
    emit changed();
}

/// Ends the watch when another session is opened.
void LiveController::watchSession() {
    if (showing_ || parked_ || state_.pipeline() == shown_.lock() || (!active_ && !snapshot_)) return;
    const bool was_active = active_;
    end();
    snapshot_.reset();
    if (was_active) emit activeChanged(false);
    emit changed();
}

void LiveController::stop() {
    if (!active_) return;
    end();
    emit activeChanged(false);
}

void LiveController::forget() {
    const bool was_active = active_;
    end();
    snapshot_.reset();
    shown_.reset();
    if (was_active) emit activeChanged(false);
    emit changed();
    setParked(false);
}

/// A running turn() ends on its own and keeps the feed alive until then.
void LiveController::end() {
    active_ = false;
    files_.reset();
    streams_.reset();
    pause_.stop();
    idle_.stop();
    job_.cancel();
    if (!feed_) return;
    if (feed_->streamsDescriptor() >= 0) {
        // In the background, because notifying the senders takes a while and must wait for a running turn().
        QThreadPool::globalInstance()->start([feed = std::move(feed_)] { feed->finish(); });
    }
    feed_.reset();
}

void LiveController::rest() {
    if (!active_) return;
    if (snapshot_->more) return turn();
    pause_.start();
}

void LiveController::wake() {
    if (files_) files_->setEnabled(true);
    if (streams_) streams_->setEnabled(true);
    idle_.start();
}

void LiveController::turn() {
    if (files_) files_->setEnabled(false);
    if (streams_) streams_->setEnabled(false);
    idle_.stop();
    if (!active_ || job_.running()) return;
    job_.start([feed = feed_](JobControl& control) { return feed->turn(control); },
               [this](LiveSnapshotPtr snapshot) { take(std::move(snapshot)); });
}

void LiveController::take(LiveSnapshotPtr snapshot) {
    LiveSnapshotPtr before = std::exchange(snapshot_, std::move(snapshot));
    SessionPtr seen = state_.pipeline();
    if (following_ && !parked_) show(false);
    emit changed();
    for (const LiveAlert& alert : snapshot_->alerts) {
        if (alert.number < next_alert_) continue;
        next_alert_ = alert.number + 1;
        emit alerted(alert);
    }
    // In the background, because freeing the many small allocations of the old session takes a while.
    QThreadPool::globalInstance()->start([before = std::move(before), seen = std::move(seen)] {});
    rest();
}

TimeRange LiveController::followed(const Session& session) const {
    const int last = session.stepCount() - 1;
    const int first = std::max(0, last + 1 - kShownSteps);
    const TimeRange shown = padded({session.window(first).begin, session.window(last).end}, kEndPadding);
    return span_ > TimeNs{0} ? TimeRange{shown.end - span_, shown.end} : shown;
}

/// With `again`, also shows a session that is already displayed, because the view may have moved.
void LiveController::show(bool again) {
    const SessionPtr session = snapshot_->session;
    if (!session || (!again && session == shown_.lock())) return;
    showing_ = true;
    shown_ = session;
    state_.followSession(session, followed(*session));
    showing_ = false;
}

/// Zooming does not end following mode while the end of the newest step is visible, which then stays in place.
void LiveController::watchRange() {
    if (showing_ || parked_ || !active_ || !state_.pipeline() || state_.pipeline() != shown_.lock()) return;
    const TimeRange& range = state_.range().range();
    if (range.end < state_.pipeline()->window(state_.pipeline()->stepCount() - 1).end) return setFollowing(false);
    span_ = range.length();
}

void LiveController::setFollowing(bool following) {
    if (following == following_) return;
    following_ = following;
    if (following && active_ && snapshot_ && !parked_) show(true);
    emit followingChanged(following);
}

void LiveController::setParked(bool parked) {
    if (parked == parked_) return;
    parked_ = parked;
    if (!parked && following_ && active_ && snapshot_) show(true);
    emit parkedChanged(parked);
}

std::int64_t LiveController::stepsBehind() const {
    if (!snapshot_ || snapshot_->steps.empty() || !state_.pipeline()) return 0;
    return std::max(0,
                    snapshot_->steps.back().index - state_.pipeline()->step(state_.pipeline()->stepCount() - 1).index);
}

bool LiveController::showStep(int number) {
    const auto place = [&](const SessionPtr& session) {
        for (int at = 0; session && at < session->stepCount(); ++at) {
            if (session->step(at).index == number) return at;
        }
        return -1;
    };
    if (parked_) return false;
    int at = place(state_.pipeline());
    if (at < 0 && snapshot_ && place(snapshot_->session) >= 0) {
        // The step is in the latest snapshot, but not in the frozen session.
        setFollowing(true);
        at = place(state_.pipeline());
    }
    if (at < 0) return false;
    state_.showStep(at);
    return true;
}

} // namespace bubblescope::gui
