#pragma once

#include "app/gui/models/session.h"
#include "core/base/job.h"
#include "core/live/live_analyzer.h"
#include "core/live/live_view.h"
#include "core/live/segment_follower.h"
#include "core/live/step_window.h"
#include "core/live/stream_receiver.h"

#include <QStringList>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// Something that happened in a run that is watched, worth a look.
struct LiveAlert {
    enum class Kind : std::uint8_t {
        Anomaly,  ///< `anomaly`
        Mismatch, ///< of a check: `text` says which
        RankLate, ///< `rank`
        RankGone, ///< `rank`
    };
    Kind kind = Kind::Anomaly;
    std::int64_t number = 0; ///< counts all alerts of the watch, from 0
    int step = 0;            ///< after which it was told
    std::optional<Anomaly> anomaly;
    live::LiveRank rank;
    std::string text;
};

/// How soon ops were heard after their end; zero where that cannot be told.
struct HeardAfter {
    TimeNs half{0};
    TimeNs most{0}; ///< of 99 %
};

/// A look at a run that goes on. Plain values of bounded size, made on a worker thread, immutable afterwards.
struct LiveSnapshot {
    std::optional<RunInfo> info;       ///< none before the first record
    std::vector<live::LiveStep> steps; ///< closed ones, the latest last, at most LiveFeed::kMaxSteps
    std::vector<live::LiveRank> ranks; ///< by replica, then rank
    std::vector<LiveAlert> alerts;     ///< the latest last, at most LiveFeed::kMaxAlerts
    live::LiveCounts counts;
    live::CheckCounts checks;
    HeardAfter heard;
    bool ended = false;                ///< all ranks have ended or are gone
    bool captured = false;             ///< it is a recorded job that knows nothing of us
    std::string address;               ///< that is listened at; empty = none
    std::size_t senders = 0;           ///< connected to it
    std::vector<std::string> problems; ///< files that cannot be read, and the like
    /// The last steps in full. Null before the first whole one, and where only sums of steps come.
    SessionPtr session;
    bool more = false; ///< there is more to read at once
};

using LiveSnapshotPtr = std::shared_ptr<const LiveSnapshot>;

/// What is to be watched: folders that a run records into, now or later, an address that hosts send to, or both.
struct LiveTarget {
    QStringList folders;
    QString listen;      ///< HOST:PORT or PORT; empty = nowhere
    QString token;       ///< that senders must know
    QString certificate; ///< shown to senders, with its key: files (PEM); empty = no encryption
    QString key;
    QString keep; ///< folder for traces of recorded jobs that senders send; empty = only while they are watched
    TimeNs patience{std::chrono::seconds(10)}; ///< as that of `bubblescope monitor`

    /// For people: the folders' names and the address.
    [[nodiscard]] QString name() const;
    friend bool operator==(const LiveTarget&, const LiveTarget&) = default;
};

/// Where what was watched lies in files that stay; none where it came over the network and was not kept.
[[nodiscard]] QStringList recordedFolders(const LiveTarget& target, const LiveSnapshot& snapshot);

/// Reads what a run writes and makes snapshots of it, with the analyzer that `monitor` has. Each call does a bounded
/// part of the work and waits for nothing but the end of another. From any thread.
class LiveFeed {
public:
    static constexpr std::size_t kMaxSteps = 2000;
    static constexpr std::size_t kMaxAlerts = 500;
    /// In a snapshot's session: a worker copies them, and the views go through them.
    static constexpr std::size_t kMaxSessionOps = 400'000;

    /// A clock that does not go back; a test's own in place of CLOCK_MONOTONIC.
    using Clock = std::function<TimeNs()>;

    /// Errors: Usage for a target that names nothing or a wrong address, Input where neither a folder nor the one above
    /// it exists, Run where the system refuses.
    [[nodiscard]] static Result<std::shared_ptr<LiveFeed>> open(const LiveTarget& target, Clock clock = {});

    /// Reads some of what there is, unless asked to stop.
    [[nodiscard]] LiveSnapshotPtr turn(const JobControl& control);
    /// Tells senders that nothing more is taken. May take two seconds. The last call to make.
    void finish();

    /// What becomes readable when turn() has something to do; −1 for none. turn() is to be called every 200 ms at
    /// least as well: steps close with time, and files of other hosts change unseen.
    [[nodiscard]] int filesDescriptor() const { return follower_.descriptor(); }
    [[nodiscard]] int streamsDescriptor() const { return receiver_ ? receiver_->descriptor() : -1; }

private:
    /// What is at hand when all is opened.
    struct Parts;
    LiveFeed(const LiveTarget& target, Parts parts, Clock clock);
    bool read(const JobControl& control);
    void take(live::LiveEvent event);
    void refreshSession(const JobControl& control);

    std::optional<TemporaryFolder> scratch_; ///< of recorded jobs that nobody wants kept
    live::LiveAnalyzer analyzer_;
    live::SegmentFollower follower_;
    std::optional<live::StreamReceiver> receiver_;
    live::CapturedRun captured_;
    Clock clock_;
    std::mutex busy_; ///< finish() may come while a turn that nobody waits for any more still runs
    std::deque<LiveAlert> alerts_;
    std::int64_t alerted_ = 0;
    SessionPtr session_;
    std::int64_t changes_in_session_ = -1; ///< of the window, when it was made
    TimeNs next_session_{0};               ///< not before, on a clock of its own
};

} // namespace bubblescope::gui
