#include "profiler/collect/live_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace bubblescope::profiler {
namespace {

// Of what a hostile stream could make grow.
constexpr std::size_t kMostMismatches = 100; ///< named of one step
constexpr std::size_t kMostOpenChecks = 256; ///< steps whose checks are counted before they are closed
constexpr std::size_t kMostTold = 4096;

/// Whether an anomaly is about one step, and not about what holds from then on.
bool isOfOneStep(AnomalyKind kind) {
    switch (kind) {
    case AnomalyKind::SlowOp:
    case AnomalyKind::OrderDeparture:
    case AnomalyKind::MissingOp:
    case AnomalyKind::DuplicateOp:
    case AnomalyKind::OutOfPlaceOp:
    case AnomalyKind::CausalityViolation:
    case AnomalyKind::AadiffMismatch: return true;
    default: return false;
    }
}

/// Equal for what is the same anomaly in two looks at a run that goes on. The step at which something is seen to have
/// begun may move by a few between looks, and is left out.
std::string identityOf(const Anomaly& anomaly) {
    const auto number = [](const auto& id) { return id ? id->value : -1; };
    return fmt::format("{}/{}/{}/{}/{}/{}/{}", anomalyKindName(anomaly.kind), number(anomaly.rank),
                       number(anomaly.peer), anomaly.replica.value_or(-1), number(anomaly.chunk),
                       anomaly.op ? opName(*anomaly.op) : "",
                       isOfOneStep(anomaly.kind) ? anomaly.step.value_or(-1) : -1);
}

void addCounts(LiveCounts& to, const perfetto::StreamCounts& more) {
    to.bytes += more.bytes;
    to.packets += more.packets;
    to.slices += more.slices;
    to.torn += more.torn;
    to.damaged += more.damaged + more.unmatched;
}

} // namespace

/// One stream, and what it said of itself.
class LiveEngine::Source : public RecordSink {
public:
    explicit Source(LiveEngine& engine) : engine_(engine), stream_(std::make_unique<RecordStream>(*this)) {}

    void onRun(const OwnHome& home, const RunStatement& statement) override { engine_.onRun(*this, home, statement); }
    void onOp(const OwnHome& home, const FoundOp& op) override { engine_.onOp(*this, home, op); }
    void onComm(const OwnHome& home, const FoundComm& comm) override { engine_.onComm(*this, home, comm); }
    void onCheck(const OwnHome& home, const SeenCheck& check) override { engine_.onCheck(home, check); }
    void onDigest() override { ++engine_.checks_.digests; }
    void onPing(const Ping& ping) override {
        const auto clockOf = [this](int rank) {
            const auto place = static_cast<std::size_t>(rank / std::max(1, engine_.info_ ? engine_.info_->tp : 1));
            // Ranks of a run are numbered pp x dp x tp, the last one fastest.
            const auto dp = static_cast<std::size_t>(engine_.info_ ? engine_.info_->dp : 1);
            const auto pp = static_cast<std::size_t>(engine_.info_ ? engine_.info_->pp : 1);
            const std::size_t index = place % dp * pp + place / dp;
            return rank >= 0 && index < engine_.clock_of_rank_.size() ? engine_.clock_of_rank_[index] : std::string();
        };
        const std::string replier = clockOf(ping.replier);
        if (!replier.empty()) engine_.clocks_.addPing(clockOf(ping.asker), replier, ping);
    }
    void onClocks(const perfetto::ClockReading& clocks) override {
        last_clocks = clocks;
        if (said) engine_.clocks_.addReading(said->clock, clocks.monotonic, clocks.realtime);
    }
    void onLost(const OwnHome& home, std::int64_t records) override {
        engine_.counts_.dropped += std::max<std::int64_t>(0, records);
        if (LiveRank* const rank = engine_.rankOf(home)) rank->dropped += std::max<std::int64_t>(0, records);
    }
    void onEnd(const OwnHome& home, const StreamEnd& end) override {
        ended = true;
        engine_.onEnd(home, end);
    }
    void onOther() override {}

    void restart() {
        addCounts(engine_.counts_, counts());
        stream_ = std::make_unique<RecordStream>(*this);
        returned = true;
        ended = false;
        said.reset();
    }
    [[nodiscard]] RecordStream& stream() { return *stream_; }
    [[nodiscard]] const perfetto::StreamCounts& counts() const { return stream_->counts(); }

    std::optional<RunStatement> said; ///< at its beginning
    std::optional<OwnHome> whose;
    std::optional<perfetto::ClockReading> last_clocks;
    bool ended = false;
    bool returned = false; ///< it was restarted, and has not sent an op since
    bool own_clock = false;

private:
    LiveEngine& engine_;
    std::unique_ptr<RecordStream> stream_;
};

LiveEngine::LiveEngine(LiveOptions options) : options_(std::move(options)) {}
LiveEngine::~LiveEngine() = default;

LiveEngine::Stream LiveEngine::open(const std::string&) {
    const auto free = std::ranges::find_if(sources_, [](const auto& source) { return source == nullptr; });
    const auto stream = static_cast<Stream>(free - sources_.begin());
    if (free == sources_.end()) sources_.emplace_back();
    sources_[stream] = std::make_unique<Source>(*this);
    return stream;
}

void LiveEngine::feed(Stream stream, std::string_view bytes, TimeNs now) {
    now_ = now;
    if (!began_) began_ = now;
    sources_[stream]->stream().feed(bytes);
}

std::size_t LiveEngine::pending(Stream stream) const {
    return sources_[stream]->stream().pending();
}

void LiveEngine::dropPending(Stream stream) {
    sources_[stream]->stream().dropPending();
}

void LiveEngine::restart(Stream stream) {
    sources_[stream]->restart();
}

void LiveEngine::close(Stream stream) {
    addCounts(counts_, sources_[stream]->counts());
    sources_[stream].reset();
}

std::optional<RunStatement> LiveEngine::statementOf(Stream stream) const {
    return sources_[stream]->said;
}

void LiveEngine::gone(Stream stream, const std::string& why) {
    const Source& source = *sources_[stream];
    LiveRank* const rank = source.whose ? rankOf(*source.whose) : nullptr;
    if (rank == nullptr || source.ended || rank->state == RankState::Ended) return;
    rank->why = why;
    setState(*rank, RankState::Gone);
}

LiveCounts LiveEngine::counts() const {
    LiveCounts all = counts_;
    for (const auto& source : sources_) {
        if (source) addCounts(all, source->counts());
    }
    return all;
}

/// Null for the further ranks of a tensor-parallel group: the first stands for it.
LiveRank* LiveEngine::rankOf(const OwnHome& home) {
    if (!info_ || home.tensor_rank != 0 || home.rank >= info_->pp || home.replica >= info_->dp) return nullptr;
    return &ranks_[board_->placeOf(home.rank, home.replica)];
}

void LiveEngine::tell(LiveEvent::Kind kind, int step, std::string text) {
    LiveEvent& event = events_.emplace_back();
    event.kind = kind;
    event.step = step;
    event.text = std::move(text);
}

void LiveEngine::setState(LiveRank& rank, RankState state) {
    if (rank.state == state) return;
    rank.state = state;
    const bool over = state == RankState::Ended || state == RankState::Gone;
    board_->setEnded(board_->placeOf(rank.rank.value, rank.replica), over);
    LiveEvent event;
    event.kind = LiveEvent::Kind::RankChanged;
    event.step = rank.step;
    event.rank = rank;
    events_.push_back(std::move(event));
}

/// What begins anew with another run. Streams and what they counted stay.
void LiveEngine::beginRun(const RunInfo& info) {
    info_ = info;
    board_ = std::make_unique<StepBoard>(info, options_.board);
    window_ = std::make_unique<StepWindow>(info, options_.thresholds, options_.window);
    ranks_.assign(board_->places(), {});
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
        ranks_[place].replica = static_cast<int>(place) / info.pp;
        ranks_[place].rank = Rank{static_cast<int>(place) % info.pp};
    }
    clock_of_rank_.assign(ranks_.size(), {});
    steps_.clear();
    anomalies_.clear();
    told_.clear();
    checks_ = {};
    checks_of_open_steps_.clear();
    mismatches_of_open_steps_.clear();
    run_ended_ = false;
    tell(LiveEvent::Kind::RunBegan, 0);
}

void LiveEngine::onRun(Source& source, const OwnHome& home, const RunStatement& statement) {
    if (!StepBoard::sizesCanBe(statement.info)) {
        ++counts_.bad;
        return;
    }
    source.said = statement;
    source.whose = home;
    source.own_clock = !options_.own_clock.empty() && statement.clock == options_.own_clock;
    const auto sizes = [](const RunInfo& info) {
        return std::tuple(info.pp, info.dp, info.tp, info.microbatches, info.vpp, info.placement, info.schedule);
    };
    if (!info_ || (source.returned && sizes(*info_) != sizes(statement.info))) beginRun(statement.info);
    if (sizes(*info_) != sizes(statement.info)) {
        source.said.reset(); // of another run, whose files lie with this one's
        ++counts_.bad;
        return;
    }
    LiveRank* const rank = rankOf(home);
    if (rank == nullptr) return;
    if (source.returned && statement.segment == 0) rank->records = 0;
    rank->host = statement.host;
    rank->pid = statement.pid;
    clock_of_rank_[board_->placeOf(home.rank, home.replica)] = statement.clock;
    if (source.last_clocks)
        clocks_.addReading(statement.clock, source.last_clocks->monotonic, source.last_clocks->realtime);
    heard(*rank);
}

void LiveEngine::heard(LiveRank& rank) {
    if (rank.state == RankState::Running) return;
    if (rank.state == RankState::Late && !board_->doneWithOldest(board_->placeOf(rank.rank.value, rank.replica)))
        return;
    rank.why.clear();
    setState(rank, RankState::Running);
}

void LiveEngine::count(StepBoard::Taken taken) {
    switch (taken) {
    case StepBoard::Taken::Yes: break;
    case StepBoard::Taken::OutOfOrder: ++counts_.out_of_order; break;
    case StepBoard::Taken::Late: ++counts_.late; break;
    case StepBoard::Taken::Bad: ++counts_.bad; break;
    }
}

void LiveEngine::onOp(Source& source, const OwnHome& home, const FoundOp& op) {
    LiveRank* rank = source.said ? rankOf(home) : nullptr;
    if (rank == nullptr) return;
    if (source.returned) {
        source.returned = false;
        if (op.step <= board_->lastClosed()) { // steps that are over begin anew: another run
            const RunInfo info = source.said->info;
            beginRun(info);
            rank = rankOf(home);
        }
    }
    ++rank->records;
    if (source.own_clock && op.end >= *began_) latency_.add(std::max(TimeNs{0}, now_ - op.end));
    count(board_->add(op, now_));
    rank->step = board_->latest(board_->placeOf(home.rank, home.replica));
    heard(*rank);
}

void LiveEngine::onComm(Source& source, const OwnHome& home, const FoundComm& comm) {
    LiveRank* const rank = source.said ? rankOf(home) : nullptr;
    if (rank == nullptr) return;
    ++rank->records;
    count(board_->add(comm, now_));
}

void LiveEngine::onCheck(const OwnHome& home, const SeenCheck& check) {
    if (!info_) return;
    CheckCounts seen;
    switch (check.outcome) {
    case CheckOutcome::Equal: ++seen.equal; break;
    case CheckOutcome::Mismatch: ++seen.mismatch; break;
    case CheckOutcome::Aborted: ++seen.aborted; break;
    case CheckOutcome::Skipped: ++seen.skipped; break;
    }
    seen.time = check.end - check.start;
    checks_.add(seen);
    const bool open = check.step > board_->lastClosed() &&
                      (checks_of_open_steps_.size() < kMostOpenChecks || checks_of_open_steps_.contains(check.step));
    if (open) checks_of_open_steps_[check.step].add(seen);
    if (check.outcome != CheckOutcome::Mismatch) return;
    const std::string who = info_->dp > 1 ? fmt::format("rank {} of replica {}", home.rank, home.replica)
                                          : fmt::format("rank {}", home.rank);
    const std::string what = fmt::format("{} ({})", check.name, verdictName(check.verdict));
    tell(LiveEvent::Kind::Mismatch, check.step, fmt::format("{}: {} does not agree", who, what));
    if (!open) return;
    auto& named = mismatches_of_open_steps_[check.step];
    if (named.size() < kMostMismatches) named.emplace_back(who, what);
}

void LiveEngine::onEnd(const OwnHome& home, const StreamEnd& end) {
    LiveRank* const rank = rankOf(home);
    if (rank == nullptr) return;
    rank->unheard = std::max<std::int64_t>(0, end.records - rank->records);
    counts_.unheard += rank->unheard;
    setState(*rank, RankState::Ended);
}

std::vector<LiveEvent> LiveEngine::advance(TimeNs now) {
    now_ = now;
    if (!began_) began_ = now;
    if (board_) {
        while (auto closed = board_->close(now))
            closeStep(std::move(*closed));
        watchRanks(now);
    }
    return std::exchange(events_, {});
}

void LiveEngine::watchRanks(TimeNs now) {
    const auto over = [](const LiveRank& rank) {
        return rank.state == RankState::Ended || rank.state == RankState::Gone;
    };
    if (!run_ended_ && board_->open() == 0 && std::ranges::all_of(ranks_, over)) {
        run_ended_ = true;
        tell(LiveEvent::Kind::RunEnded, board_->lastClosed());
    }
    // A share of the patience after which a step is given up: who watches is told before.
    const auto since = board_->waitingSince();
    if (!since || now - *since < options_.board.patience / 2) return;
    for (LiveRank& rank : ranks_) {
        const bool done = board_->doneWithOldest(board_->placeOf(rank.rank.value, rank.replica));
        if (!done && rank.state == RankState::Running) setState(rank, RankState::Late);
    }
}

/// Puts the steps on the reference clock, and says how.
RunClocks LiveEngine::alignSteps(std::vector<StepTimeline>& timelines) {
    RunClocks report;
    if (clocks_.clocks() < 2) return report;
    report.method = ClockMethod::Aligned;
    report.pings = clocks_.pings();
    for (StepTimeline& timeline : timelines) {
        std::vector<ClockFit> fits;
        for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
            const std::size_t place = board_->placeOf(static_cast<std::int64_t>(rank), timeline.replica);
            fits.push_back(clocks_.fitOf(clock_of_rank_[place]));
            report.ranks.push_back({timeline.replica, Rank{rank}, ranks_[place].host, fits.back()});
        }
        moveToReference(timeline, fits);
    }
    return report;
}

void LiveEngine::closeStep(ClosedStep closed) {
    ++counts_.steps;
    counts_.duplicates += closed.duplicates;
    LiveStep step;
    step.index = closed.index;
    step.complete = static_cast<int>(closed.timelines.size()) == info_->dp;
    step.fault = std::move(closed.fault);
    for (const std::size_t place : closed.missing)
        step.unknown.emplace_back(ranks_[place].replica, ranks_[place].rank);
    if (const auto node = checks_of_open_steps_.extract(closed.index)) step.checks = node.mapped();
    if (auto node = mismatches_of_open_steps_.extract(closed.index)) step.mismatches = std::move(node.mapped());
    if (!step.complete) ++counts_.incomplete;
    const bool any = !closed.timelines.empty();
    const RunClocks clocks = alignSteps(closed.timelines);
    window_->add(std::move(closed.timelines), clocks, step);
    for (const StepAnalysis& analysis : window_->analyses()) {
        if (analysis.index != step.index) continue;
        for (const RankAccount& account : analysis.ranks) {
            LiveRank& rank = ranks_[board_->placeOf(account.rank.value, analysis.replica)];
            rank.busy += account.busy;
            rank.bubble += account.bubble;
        }
    }
    if (any) findAnomalies(step.index);
    steps_.push_back(std::move(step));
    if (steps_.size() > options_.history) steps_.pop_front();
    tell(LiveEvent::Kind::StepClosed, closed.index);
}

void LiveEngine::findAnomalies(int step) {
    anomalies_.clear();
    for (Anomaly& anomaly : window_->findings()) {
        const std::string identity = identityOf(anomaly);
        if (told_.size() >= kMostTold && !told_.contains(identity)) continue;
        auto [known, is_new] = told_.try_emplace(identity, LiveAnomaly{anomaly, step, step});
        known->second.anomaly = std::move(anomaly);
        known->second.last_at = step;
        anomalies_.push_back(known->second);
        if (!is_new) continue;
        tell(LiveEvent::Kind::AnomalyFound, step);
        events_.back().anomaly = known->second;
    }
    // What is long over may be told again.
    const int long_ago = step - 2 * static_cast<int>(options_.window.last + options_.window.first);
    std::erase_if(told_, [long_ago](const auto& entry) { return entry.second.last_at < long_ago; });
}

std::string_view rankStateName(RankState state) {
    switch (state) {
    case RankState::Awaited: return "awaited";
    case RankState::Running: return "running";
    case RankState::Late: return "late";
    case RankState::Gone: return "gone";
    case RankState::Ended: return "ended";
    }
    return "awaited";
}

void CheckCounts::add(const CheckCounts& other) {
    equal += other.equal;
    mismatch += other.mismatch;
    aborted += other.aborted;
    skipped += other.skipped;
    digests += other.digests;
    time += other.time;
}

} // namespace bubblescope::profiler
