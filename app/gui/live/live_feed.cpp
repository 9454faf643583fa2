#include "app/gui/live/live_feed.h"

#include "app/gui/language/format.h"
#include "core/analysis/anomalies/find_anomalies.h"
#include "core/base/process_info.h"

#include <QFileInfo>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <sys/resource.h>

namespace bubblescope::gui {

namespace {

std::size_t opsOf(const StepTimeline& step) {
    std::size_t ops = 0;
    for (const auto& rank : step.ranks)
        ops += rank.size();
    return ops;
}

constexpr int kMaxMissing = 4; ///< steps of which not all was recorded may lie between those that are shown

/// The window keeps a run's first steps as well; an axis with hours between them and the last would show neither.
std::size_t firstShown(const std::vector<StepTimeline>& steps, std::size_t most_ops) {
    std::size_t from = steps.size() - 1;
    std::size_t ops = opsOf(steps[from]);
    while (from > 0) {
        const StepTimeline& before = steps[from - 1];
        ops += opsOf(before);
        const bool same = before.index == steps[from].index;
        if (!same && (steps[from].index - before.index > 1 + kMaxMissing || ops > most_ops)) break;
        --from;
    }
    return from;
}

/// The checks that ran in the steps that are shown, and what they found.
void tellChecks(const live::StepWindow& window, Run& shown, RunReport& report) {
    for (const CheckRecord& check : window.run().checks.checks) {
        if (check.step >= shown.steps.front().index) shown.checks.checks.push_back(check);
    }
    if (shown.checks.checks.empty()) return;
    shown.checks.devices = window.run().checks.devices;
    report.coverage = coverageOf(shown.checks, shown.steps, shown.info ? std::max(1, shown.info->tp) : 1);
    Anomalies found;
    findAadiffFaults({shown, report.steps, report.typical_step, report.clocks, {}, {}, {}, {}, &*report.coverage},
                     found);
    // What the last steps did not cover earlier ones may have.
    std::erase_if(found, [](const Anomaly& anomaly) { return anomaly.kind == AnomalyKind::AadiffUnchecked; });
    std::ranges::move(found, std::back_inserter(report.anomalies));
}

template <class T>
std::vector<T> tail(const std::vector<T>& all, std::size_t from) {
    return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}

} // namespace

Result<SessionPtr> liveSession(const live::StepWindow& window, const std::vector<live::LiveAnomaly>& anomalies,
                               std::size_t most_ops, const JobControl& control) {
    const Run& run = window.run();
    if (run.steps.empty()) return SessionPtr();
    const std::size_t from = firstShown(run.steps, most_ops);
    auto session = std::make_shared<Session>();
    Run& shown = session->run;
    shown.format = run.format;
    shown.annotation = run.annotation;
    shown.info = run.info;
    shown.schedule = run.schedule;
    shown.departure = run.departure;
    shown.closest = run.closest;
    shown.closest_order = run.closest_order;
    shown.explanation = run.explanation;
    shown.steps = tail(run.steps, from);
    shown.span = shown.steps.back().end - shown.steps.front().begin;
    RunReport& report = session->report;
    report.steps = tail(window.analyses(), from);
    report.diagnoses = tail(window.diagnoses(), from);
    report.stages = stageTimes(shown.steps);
    report.clocks = window.clocks();
    report.typical_step = typicalStep(report.steps);
    for (const live::LiveAnomaly& found : anomalies)
        report.anomalies.push_back(found.anomaly);
    tellChecks(window, session->run, report);
    session->lanes = Lanes(shown.steps, report.steps, shown.checks.checks);
    session->overview = Overview(session->lanes);
    BUBBLESCOPE_ASSIGN(session->raw, RawLanes::build(shown, report.clocks, session->lanes, control));
    return SessionPtr(std::move(session));
}

namespace {

/// Of the machine, for how long work may take: a test's clock says when things happen in the run.
TimeNs worked() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

std::vector<std::filesystem::path> toFolders(const LiveTarget& target) {
    std::vector<std::filesystem::path> folders;
    for (const QString& folder : target.folders)
        folders.emplace_back(folder.toStdString());
    return folders;
}

/// A run that is to begin makes its folder, but not those above it.
Status checkFolders(const std::vector<std::filesystem::path>& folders) {
    std::error_code code;
    for (const std::filesystem::path& folder : folders) {
        const std::filesystem::path path = std::filesystem::absolute(folder, code);
        if (std::filesystem::exists(path, code) || std::filesystem::exists(path.parent_path(), code)) continue;
        return inputError(folder.string(), "neither the folder nor the one above it exists",
                          "name the folder that the run records into");
    }
    return {};
}

/// Large runs have a file for each rank.
void openManyFiles() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<std::optional<live::StreamReceiver>> receiverFor(const LiveTarget& target, const std::filesystem::path& keep) {
    live::StreamReceiver::Options listening;
    BUBBLESCOPE_ASSIGN(listening.address, net::parseAddress(target.listen.toStdString()));
    listening.token = target.token.toStdString();
    listening.clock = thisProcess().clock;
    listening.keep = keep;
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
    /// Where traces of recorded jobs are: what these did shows in their files alone, those that come over the network
    /// included.
    std::vector<std::filesystem::path> recorded;
};

LiveFeed::LiveFeed(const LiveTarget& target, Parts parts, Clock clock)
    : scratch_(std::move(parts.scratch)), analyzer_(std::move(parts.options)), follower_(std::move(parts.follower)),
      receiver_(std::move(parts.receiver)), captured_(std::move(parts.recorded), target.patience),
      clock_(std::move(clock)) {}

Result<std::shared_ptr<LiveFeed>> LiveFeed::open(const LiveTarget& target, Clock clock) {
    if (target.folders.isEmpty() && target.listen.isEmpty())
        return usageError("there is nothing to watch", "name the folders that the run records into, or an address");
    const std::vector<std::filesystem::path> folders = toFolders(target);
    BUBBLESCOPE_TRY(checkFolders(folders));
    openManyFiles();
    live::LiveOptions options;
    options.assembly.patience = target.patience;
    options.history = kMaxSteps;
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

/// A part of what there is; true if there is more.
bool LiveFeed::read(const JobControl& control) {
    constexpr TimeNs kLongest{std::chrono::milliseconds(100)}; // until the next snapshot is made
    const TimeNs began = worked();
    bool more = true;
    while (more && !control.stopRequested() && worked() - began < kLongest)
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
    refreshSession(control);
    snapshot->info = analyzer_.info();
    snapshot->steps.assign(analyzer_.steps().begin(), analyzer_.steps().end());
    snapshot->ranks = analyzer_.ranks();
    snapshot->alerts.assign(alerts_.begin(), alerts_.end());
    snapshot->counts = analyzer_.counts();
    snapshot->checks = analyzer_.checks();
    snapshot->heard = {analyzer_.latency().quantile(0.5), analyzer_.latency().quantile(0.99)};
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
        break;
    case Kind::RankChanged:
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
    alert.number = alerted_++;
    alerts_.push_back(std::move(alert));
    if (alerts_.size() > kMaxAlerts) alerts_.pop_front();
}

/// All views go through a new session, so there are no more than four a second; and where steps are large no more than
/// a quarter of the time goes into drawing them up.
void LiveFeed::refreshSession(const JobControl& control) {
    const TimeNs began = worked();
    if (analyzer_.window() == nullptr || began < next_session_) return;
    const std::int64_t changes = analyzer_.window()->changes();
    if (changes == changes_in_session_) return;
    auto made = liveSession(*analyzer_.window(), analyzer_.anomalies(), kMaxOps, control);
    if (!made.ok()) return; // asked to stop
    session_ = std::move(made).value();
    changes_in_session_ = changes;
    constexpr TimeNs kSeldom{std::chrono::milliseconds(250)};
    const TimeNs now = worked();
    next_session_ = now + std::max(kSeldom, 3 * (now - began));
}

void LiveFeed::finish() {
    const std::scoped_lock lock(busy_);
    if (receiver_) receiver_->finish(std::chrono::seconds(2));
}

} // namespace bubblescope::gui
