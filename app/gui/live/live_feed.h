#pragma once

#include "app/gui/models/session.h"
#include "core/base/job.h"
#include "core/live/live_analyzer.h"
#include "core/live/live_view.h"
#include "core/live/segment_follower.h"
#include "core/live/stream_receiver.h"

#include <QStringList>

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope::gui {

/// An event in a watched run that users should know about.
struct LiveAlert {
    enum class Kind : std::uint8_t {
        Anomaly,    ///< `anomaly`
        Mismatch,   ///< result of a check on `rank`, described in `text`
        RankLate,   ///< `rank`
        RankGone,   ///< `rank`
        SenderLost, ///< `sender`
    };
    Kind kind = Kind::Anomaly;
    std::int64_t number = 0; ///< number among all alerts of the watch, from 0
    int step = 0;            ///< the step after which it was reported
    std::optional<Anomaly> anomaly;
    live::LiveRank rank;
    live::StreamReceiver::SenderNews sender;
    std::string text;
    std::optional<int> resolved_at; ///< the step after which it ended; none while it is open
};

/// Time from the end of ops to the arrival of their records; zero if unknown.
struct RecordLatency {
    TimeNs median{0};
    TimeNs p99{0}; ///< the 99th percentile
};

/// The state of a run in progress at one moment. It consists of plain values of bounded size, is created on a worker
/// thread, and is immutable afterwards.
struct LiveSnapshot {
    std::optional<RunInfo> info;       ///< none before the first record
    std::vector<live::LiveStep> steps; ///< closed steps, the latest last; at most LiveFeed::kMaxSteps
    std::vector<live::LiveRank> ranks; ///< by replica, then rank
    std::vector<LiveAlert> alerts;     ///< the latest last; at most LiveFeed::kMaxAlerts
    live::LiveCounts counts;
    live::CheckCounts checks;
    RecordLatency latency;
    bool ended = false;                ///< all ranks have ended or are lost
    bool captured = false;             ///< a recorded job that does not use Bubblescope itself
    std::string address;               ///< the address that it listens on; empty = none
    std::size_t senders = 0;           ///< connected to that address
    std::vector<std::string> problems; ///< for example, files that cannot be read
    /// The last steps in full. Null before the first complete step, and if only reduced steps arrive.
    SessionPtr session;
    bool more = false; ///< more data is already available
};

using LiveSnapshotPtr = std::shared_ptr<const LiveSnapshot>;

/// What to watch: folders that a run records into, now or later, an address that hosts send to, or both.
struct LiveTarget {
    QStringList folders;
    QString listen;        ///< HOST:PORT or PORT; empty = nowhere
    QString token;         ///< the token that senders must present
    bool insecure = false; ///< true if other machines may send without TLS
    QString certificate;   ///< certificate shown to senders and its key, as PEM files; empty = no encryption
    QString key;
    QString keep; ///< folder for traces of recorded jobs received from senders; empty = kept only during the watch
    TimeNs patience{std::chrono::seconds(10)}; ///< as for `bubblescope monitor`

    /// The folders' names and the address.
    [[nodiscard]] QString name() const;
    friend bool operator==(const LiveTarget&, const LiveTarget&) = default;
};

/// The folders that hold the watched run permanently; none if it was received over the network and not kept.
[[nodiscard]] QStringList recordedFolders(const LiveTarget& target, const LiveSnapshot& snapshot);

/// Reads what a run writes and turns it into snapshots, using the same analyzer as `monitor`. Each call does a bounded
/// amount of work, and waits only for the end of another call. Any thread.
class LiveFeed {
public:
    static constexpr std::size_t kMaxSteps = 2000;
    static constexpr std::size_t kMaxAlerts = 500;
    /// Limits the size of a snapshot's session, which a worker copies and the views traverse.
    static constexpr std::size_t kMaxSessionOps = 400'000;

    /// A monotonic clock; tests replace CLOCK_MONOTONIC with their own.
    using Clock = std::function<TimeNs()>;

    /// Errors: Usage for a target without folder and address or with an invalid address, Input if neither a folder nor
    /// its parent exists, Run if the system refuses.
    [[nodiscard]] static Result<std::shared_ptr<LiveFeed>> open(const LiveTarget& target, Clock clock = {});

    /// Reads some of the available data, unless asked to stop, and creates a snapshot.
    [[nodiscard]] LiveSnapshotPtr turn(const JobControl& control);
    /// Informs senders that no more data is accepted. May take two seconds. Must be the last call.
    void finish();

    /// Descriptors that become readable when turn() has work to do; −1 for none. Call turn() at least every 200 ms
    /// anyway, because steps close with time, and changes by other hosts are not signalled.
    [[nodiscard]] int filesDescriptor() const { return follower_.descriptor(); }
    [[nodiscard]] int streamsDescriptor() const { return receiver_ ? receiver_->descriptor() : -1; }

private:
    /// The opened parts, for the constructor.
    struct Parts;
    LiveFeed(const LiveTarget& target, Parts parts, Clock clock);
    bool read(const JobControl& control);
    void take(live::LiveEvent event);
    void takeSenders();
    void add(LiveAlert alert);
    void resolve(const LoggedFinding& over);
    void resolveLate(const live::LiveRank& rank, int step);
    void refreshSession(const JobControl& control);

    std::vector<std::filesystem::path> folders_; ///< those of the target
    std::optional<TemporaryFolder> scratch_;     ///< folder for streams of recorded jobs that are not kept
    live::LiveAnalyzer analyzer_;
    live::SegmentFollower follower_;
    std::optional<live::StreamReceiver> receiver_;
    live::CapturedRun captured_;
    Clock clock_;
    std::mutex busy_; ///< finish() may be called while an abandoned turn() still runs
    std::deque<LiveAlert> alerts_;
    std::int64_t alerted_ = 0;
    SessionPtr session_;
    std::int64_t changes_in_session_ = -1; ///< version of the window from which the session was made
    TimeNs next_session_{0};               ///< earliest time, on the machine's clock
};

} // namespace bubblescope::gui
