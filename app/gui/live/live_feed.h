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

/// An event in a watched run that is reported to the user.
struct LiveAlert {
    enum class Kind : std::uint8_t {
        Anomaly,    ///< described by `anomaly`
        Mismatch,   ///< result of a check on `rank`, described in `text`
        RankLate,   ///< `rank` is late
        RankGone,   ///< the process of `rank` has died
        SenderLost, ///< connection to `sender` lost
    };
    Kind kind = Kind::Anomaly;
    std::int64_t number = 0; ///< index among all alerts of the watch
    int step = 0;            ///< number of the step after which the alert was reported
    std::optional<Anomaly> anomaly;
    live::LiveRank rank;
    live::StreamReceiver::SenderNews sender;
    std::string text;
    std::optional<int> resolved_at; ///< number of the step after which the alert ended; none while the alert is open
};

/// Time from the end of an op to the arrival of its record; zero if unknown.
struct RecordLatency {
    TimeNs median{0};
    TimeNs p99{0}; ///< 99th percentile
};

/// State of a run at one point in time. A snapshot has a bounded size, is created on a worker thread, and is immutable
/// afterwards.
struct LiveSnapshot {
    std::optional<RunInfo> info;       ///< none before the first record
    std::vector<live::LiveStep> steps; ///< completed steps, the latest last; at most LiveFeed::kMaxSteps
    std::vector<live::LiveRank> ranks; ///< by replica, then rank
    std::vector<LiveAlert> alerts;     ///< the latest last; at most LiveFeed::kMaxAlerts
    live::LiveCounts counts;
    live::CheckCounts checks;
    RecordLatency latency;
    bool ended = false;                ///< true if all ranks have ended or are lost
    bool captured = false;             ///< true if the recorded job does not use our library
    std::string address;               ///< address that the receiver listens on; empty = none
    std::size_t senders = 0;           ///< number of senders connected to that address
    std::vector<std::string> problems; ///< such as files that cannot be read
    /// Session with the latest steps. Null before the first complete step, or if senders send only summaries of steps.
    SessionPtr session;
    bool more = false; ///< true if more data is already available
};

using LiveSnapshotPtr = std::shared_ptr<const LiveSnapshot>;

/// Source of a watched run: folders that a run records into (now or later), an address that hosts send to, or both.
struct LiveTarget {
    QStringList folders;
    QString listen;        ///< HOST:PORT or PORT; if empty, nothing is received
    QString token;         ///< the token that senders must present
    bool insecure = false; ///< true if other machines may send data without TLS
    QString certificate;   ///< PEM files of the certificate and its key; empty = no encryption
    QString key;
    QString keep; ///< folder for received traces of recorded jobs; if empty, they are deleted after the watch
    TimeNs patience{std::chrono::seconds(10)}; ///< same meaning as in `bubblescope monitor`

    /// Names of the folders, and the address.
    [[nodiscard]] QString name() const;
    friend bool operator==(const LiveTarget&, const LiveTarget&) = default;
};

/// Folders in which the watched run is stored permanently; none if it is received over the network and not stored.
[[nodiscard]] QStringList recordedFolders(const LiveTarget& target, const LiveSnapshot& snapshot);

/// Reads the records of a run and creates snapshots from them with the same analyzer as `monitor`. Each call performs a
/// bounded amount of work; concurrent calls wait for each other. May be used by any thread.
class LiveFeed {
public:
    static constexpr std::size_t kMaxSteps = 2000;
    static constexpr std::size_t kMaxAlerts = 500;
    /// Maximum number of ops in a snapshot's session; a worker copies them, and the views traverse them.
    static constexpr std::size_t kMaxSessionOps = 400'000;

    /// A monotonic clock, by default CLOCK_MONOTONIC; tests use a different one.
    using Clock = std::function<TimeNs()>;

    /// Errors: Usage if the target is empty or has an invalid address, Input if neither a folder nor its parent exists,
    /// Run if a system call fails.
    [[nodiscard]] static Result<std::shared_ptr<LiveFeed>> open(const LiveTarget& target, Clock clock = {});

    /// Reads part of the available data, stopping early if `control` requests it, and creates a snapshot.
    [[nodiscard]] LiveSnapshotPtr turn(const JobControl& control);
    /// Notifies senders that no more data is accepted. May take two seconds. Must be the last call.
    void finish();

    /// Descriptors that become readable when turn() has new data to read, or −1. Call turn() at least every 200 ms even
    /// without new data, because steps can end by timeout and changes by other hosts are not signalled.
    [[nodiscard]] int filesDescriptor() const { return follower_.descriptor(); }
    [[nodiscard]] int streamsDescriptor() const { return receiver_ ? receiver_->descriptor() : -1; }

private:
    /// The members that are opened before the constructor runs.
    struct Parts;
    LiveFeed(const LiveTarget& target, Parts parts, Clock clock);
    bool read(const JobControl& control);
    void take(live::LiveEvent event);
    void takeSenders();
    void add(LiveAlert alert);
    void resolve(const LoggedFinding& over);
    void resolveLate(const live::LiveRank& rank, int step);
    void refreshSession(const JobControl& control);

    std::vector<std::filesystem::path> folders_; ///< folders in the target
    std::optional<TemporaryFolder> scratch_;     ///< folder for received streams that are not stored
    live::LiveAnalyzer analyzer_;
    live::SegmentFollower follower_;
    std::optional<live::StreamReceiver> receiver_;
    live::CapturedRun captured_;
    Clock clock_;
    std::mutex busy_; ///< needed because finish() may be called while an abandoned turn() is still running
    std::deque<LiveAlert> alerts_;
    std::int64_t alerted_ = 0;
    SessionPtr session_;
    std::int64_t changes_in_session_ = -1; ///< version of the window from which the session was made
    TimeNs next_session_{0};               ///< earliest time for the next session, on the machine's clock
};

} // namespace bubblescope::gui
