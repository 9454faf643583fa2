#include "app/gui/live/live_feed.h"

#include "core/base/process_info.h"

#include <QFileInfo>

#include <algorithm>
#include <chrono>

namespace bubblescope::gui {

namespace {

/// The machine's clock, which limits the time of work. Times of the run come from the other clock, which tests replace.
TimeNs steadyNow() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

std::vector<std::filesystem::path> toFolders(const LiveTarget& target) {
    std::vector<std::filesystem::path> folders;
    for (const QString& folder : target.folders)
        folders.emplace_back(folder.toStdString());
    return folders;
}

Result<std::optional<live::StreamReceiver>> receiverFor(const LiveTarget& target, const std::filesystem::path& keep) {
    live::StreamReceiver::Options listening;
    BUBBLESCOPE_ASSIGN(listening.address, net::parseAddress(target.listen.toStdString()));
    listening.token = target.token.toStdString();
    listening.clock = thisProcess().clock;
    listening.keep = keep;
    listening.insecure = target.insecure;
    if (!target.certificate.isEmpty() || !target.key.isEmpty()) {
        BUBBLESCOPE_ASSIGN(listening.tls,
                           net::TlsSettings::forListening(target.certificate.toStdString(), target.key.toStdString()));
    }
    BUBBLESCOPE_ASSIGN(live::StreamReceiver receiver, live::StreamReceiver::open(std::move(listening)));
    return std::optional(std::move(receiver));
}

} // namespace

QString LiveTarget::name() const {
    QStringList names;
    for (const QString& folder : folders) {
        const QString last = QFileInfo(folder).fileName();
        names << (last.isEmpty() ? folder : last);
    }
    if (!listen.isEmpty()) names << listen;
    return names.join(QStringLiteral(", "));
}

QStringList recordedFolders(const LiveTarget& target, const LiveSnapshot& snapshot) {
    QStringList folders = target.folders;
    if (snapshot.captured && !target.listen.isEmpty() && !target.keep.isEmpty()) folders << target.keep;
    return folders;
}

struct LiveFeed::Parts {
    live::LiveOptions options;
    live::SegmentFollower follower;
    std::optional<live::StreamReceiver> receiver;
    std::optional<TemporaryFolder> scratch;
    /// Folders with traces of recorded jobs, including those received over the network. Only these files contain the
    /// steps of such jobs.
    std::vector<std::filesystem::path> recorded;
};

LiveFeed::LiveFeed(const LiveTarget& target, Parts parts, Clock clock)
    : folders_(toFolders(target)), scratch_(std::move(parts.scratch)), analyzer_(std::move(parts.options)),
      follower_(std::move(parts.follower)), receiver_(std::move(parts.receiver)),
      captured_(std::move(parts.recorded), target.patience), clock_(std::move(clock)) {}

Result<std::shared_ptr<LiveFeed>> LiveFeed::open(const LiveTarget& target, Clock clock) {
    if (target.folders.isEmpty() && target.listen.isEmpty())
        return usageError("nothing to watch", "specify the folders that the run records into, or an address");
    const std::vector<std::filesystem::path> folders = toFolders(target);
    BUBBLESCOPE_TRY(live::checkFolders(folders));
    live::allowManyFiles();
    live::LiveOptions options;
    options.assembly.patience = target.patience;
    options.history = kMaxSteps;
    options.thresholds = findingThresholds();
    if (!clock) {
        options.own_clock = thisProcess().clock;
        clock = [] { return readClocks().monotonic; };
    }
    BUBBLESCOPE_ASSIGN(live::SegmentFollower follower, live::SegmentFollower::open(folders));
    Parts parts{std::move(options), std::move(follower), {}, {}, folders};
    if (!target.listen.isEmpty()) {
        if (target.keep.isEmpty()) {
            BUBBLESCOPE_ASSIGN(parts.scratch, live::makeScratchFolder());
        }
        parts.recorded.push_back(parts.scratch ? parts.scratch->path()
                                               : std::filesystem::path(target.keep.toStdString()));
        BUBBLESCOPE_ASSIGN(parts.receiver, receiverFor(target, parts.recorded.back()));
    }
    return std::shared_ptr<LiveFeed>(new LiveFeed(target, std::move(parts), std::move(clock)));
}

/// Reads some of the available data; returns true if there is more.
bool LiveFeed::read(const JobControl& control) {
    constexpr TimeNs kMaxReadTime{std::chrono::milliseconds(100)}; // longest time until the next snapshot
    const TimeNs began = steadyNow();
    bool more = true;
    while (more && !control.stopRequested() && steadyNow() - began < kMaxReadTime)
        more = follower_.read(analyzer_, clock_());
    if (receiver_) receiver_->poll(analyzer_, clock_());
    captured_.look(analyzer_, clock_());
    return more;
}

LiveSnapshotPtr LiveFeed::turn(const JobControl& control) {
    const std::scoped_lock lock(busy_);
    auto snapshot = std::make_shared<LiveSnapshot>();
    snapshot->more = read(control);
    for (live::LiveEvent& event : analyzer_.advance(clock_()))
        take(std::move(event));
    takeSenders();
    refreshSession(control);
    snapshot->info = analyzer_.info();
    snapshot->steps.assign(analyzer_.steps().begin(), analyzer_.steps().end());
    snapshot->ranks = analyzer_.ranks();
    snapshot->alerts.assign(alerts_.begin(), alerts_.end());
    snapshot->counts = analyzer_.counts();
    snapshot->checks = analyzer_.checks();
    snapshot->latency = {analyzer_.latency().quantile(0.5), analyzer_.latency().quantile(0.99)};
    snapshot->ended = analyzer_.runEnded();
    if (receiver_) {
        snapshot->address = receiver_->address().text();
        snapshot->senders = receiver_->connections();
    }
    snapshot->captured = analyzer_.captured();
    snapshot->problems = follower_.problems();
    if (receiver_ && !receiver_->storeProblem().empty()) snapshot->problems.push_back(receiver_->storeProblem());
    if (analyzer_.captured() && !captured_.problem().empty()) snapshot->problems.push_back(captured_.problem());
    snapshot->session = session_;
    return snapshot;
}

void LiveFeed::take(live::LiveEvent event) {
    using Kind = live::LiveEvent::Kind;
    LiveAlert alert;
    switch (event.kind) {
    case Kind::RunBegan:
        session_.reset();
        changes_in_session_ = -1;
        alerts_.clear();
        return;
    case Kind::AnomalyFound:
        alert.kind = LiveAlert::Kind::Anomaly;
        alert.anomaly = std::move(event.anomaly->anomaly);
        break;
    case Kind::Mismatch:
        alert.kind = LiveAlert::Kind::Mismatch;
        alert.text = std::move(event.text);
        alert.rank = std::move(event.rank);
        break;
    case Kind::AnomalyResolved: return resolve(*event.anomaly);
    case Kind::RankChanged:
        if (event.rank.state != live::RankState::Late) resolveLate(event.rank, event.step);
        if (event.rank.state == live::RankState::Late) {
            alert.kind = LiveAlert::Kind::RankLate;
        } else if (event.rank.state == live::RankState::Gone) {
            alert.kind = LiveAlert::Kind::RankGone;
        } else {
            return;
        }
        alert.rank = std::move(event.rank);
        break;
    case Kind::StepClosed:
    case Kind::RunEnded: return;
    }
    alert.step = event.step;
    add(std::move(alert));
}

void LiveFeed::add(LiveAlert alert) {
    alert.number = alerted_++;
    alerts_.push_back(std::move(alert));
    if (alerts_.size() > kMaxAlerts) alerts_.pop_front();
}

/// Reports senders that left before the end of their data, and those that have returned.
void LiveFeed::takeSenders() {
    if (!receiver_) return;
    const int step = analyzer_.steps().empty() ? 0 : analyzer_.steps().back().index;
    for (auto& news : receiver_->takeNews(analyzer_, clock_(), live::StreamReceiver::kReturns)) {
        if (!news.back) {
            LiveAlert alert;
            alert.kind = LiveAlert::Kind::SenderLost;
            alert.step = step;
            alert.sender = std::move(news);
            add(std::move(alert));
            continue;
        }
        for (LiveAlert& alert : alerts_) {
            const bool same = alert.kind == LiveAlert::Kind::SenderLost && alert.sender.name == news.name;
            if (same && !alert.resolved_at) alert.resolved_at = std::max(step, alert.step);
        }
    }
}

void LiveFeed::resolve(const LoggedFinding& over) {
    const std::string identity = identityOf(over.anomaly);
    for (LiveAlert& alert : alerts_) {
        if (alert.anomaly && !alert.resolved_at && identityOf(*alert.anomaly) == identity)
            alert.resolved_at = over.resolved_at;
    }
}

void LiveFeed::resolveLate(const live::LiveRank& rank, int step) {
    for (LiveAlert& alert : alerts_) {
        const bool same = alert.kind == LiveAlert::Kind::RankLate && alert.rank.rank == rank.rank &&
                          alert.rank.replica == rank.replica;
        if (same && !alert.resolved_at) alert.resolved_at = std::max(step, alert.step);
    }
}

/// Each new session updates all views, so there are at most four sessions per second. For large steps, at most a
/// quarter of the time is spent on sessions.
void LiveFeed::refreshSession(const JobControl& control) {
    const TimeNs began = steadyNow();
    if (analyzer_.window() == nullptr || began < next_session_) return;
    const std::int64_t changes = analyzer_.window()->changes();
    if (changes == changes_in_session_) return;
    std::optional<DiagnosedRun> recent = analyzer_.latest(kMaxSessionOps);
    changes_in_session_ = changes;
    if (!recent) return session_.reset(); // the first step is shown as soon as it arrives
    Result<SessionPtr> made = makeSession(*std::move(recent), control, {folders_, {}, {}});
    if (!made.ok()) { // cancelled
        changes_in_session_ = -1;
        return;
    }
    session_ = std::move(made).value();
    constexpr TimeNs kSessionInterval{std::chrono::milliseconds(250)};
    const TimeNs now = steadyNow();
    next_session_ = now + std::max(kSessionInterval, 3 * (now - began));
}

void LiveFeed::finish() {
    const std::scoped_lock lock(busy_);
    if (receiver_) receiver_->finish(std::chrono::seconds(2));
}

} // namespace bubblescope::gui
