#include "core/live/live_analyzer.h"

#include "core/live/live_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope::profiler {
namespace {

// Of what a hostile stream could make grow.
constexpr std::size_t kMaxMismatches = 100; ///< named of one step
constexpr std::size_t kMaxOpenChecks = 256; ///< steps whose checks are counted before they are closed
constexpr std::size_t kMaxTold = 4096;
constexpr std::size_t kMaxRecords = 200'000; ///< of checks in open steps, and of late ones

} // namespace

LiveAnalyzer::LiveAnalyzer(LiveOptions options) : options_(std::move(options)) {}
LiveAnalyzer::~LiveAnalyzer() = default;

LiveAnalyzer::Stream LiveAnalyzer::open(const std::string&) {
    const auto free = std::ranges::find_if(sources_, [](const auto& source) { return source == nullptr; });
    const auto stream = static_cast<Stream>(free - sources_.begin());
    if (free == sources_.end()) sources_.emplace_back();
    sources_[stream] = std::make_unique<Source>(*this);
    return stream;
}

void LiveAnalyzer::feed(Stream stream, std::string_view bytes, TimeNs now) {
    now_ = now;
    if (!began_) began_ = now;
    Source& source = *sources_[stream];
    source.stream().feed(bytes);
    if (source.process != nullptr && !bytes.empty()) source.process->heard = now;
}

std::size_t LiveAnalyzer::pending(Stream stream) const {
    return sources_[stream]->stream().pending();
}

void LiveAnalyzer::dropPending(Stream stream) {
    sources_[stream]->stream().dropPending();
}

void LiveAnalyzer::restart(Stream stream) {
    sources_[stream]->restart();
}

void LiveAnalyzer::close(Stream stream) {
    addCounts(counts_, sources_[stream]->counts());
    sources_[stream].reset();
}

std::optional<RunStatement> LiveAnalyzer::statementOf(Stream stream) const {
    return sources_[stream]->said;
}

void LiveAnalyzer::gone(Stream stream, const std::string& why) {
    Source& source = *sources_[stream];
    if (source.process != nullptr) {
        source.process->gone = true;
        source.process->why = why;
        return;
    }
    for (LiveRank& rank : ranks_) {
        const bool told = source.share && !source.ended && source.share->has(rank.replica);
        if (!told || rank.state != RankState::Running) continue;
        rank.why = "who told of it is no more: " + why;
        setState(rank, RankState::Late);
    }
    LiveRank* const rank = source.whose ? rankOf(*source.whose) : nullptr;
    if (rank == nullptr || source.ended || rank->state == RankState::Ended) return;
    rank->why = why;
    setState(*rank, RankState::Gone);
}

LiveCounts LiveAnalyzer::counts() const {
    LiveCounts all = counts_;
    for (const auto& source : sources_) {
        if (source) addCounts(all, source->counts());
    }
    return all;
}

std::pair<int, int> LiveAnalyzer::replicas() const {
    return {options_.replicas.first, std::min(options_.replicas.last, info_->dp - 1)};
}

/// Null for the further ranks of a tensor-parallel group, for which the first stands, and for those that others look
/// after.
LiveRank* LiveAnalyzer::rankOf(const OwnHome& home) {
    if (!info_ || home.tensor_rank != 0 || home.rank >= info_->pp || home.replica >= info_->dp) return nullptr;
    if (!options_.replicas.has(home.replica)) return nullptr;
    return &ranks_[board_->placeOf(home.rank, home.replica)];
}

void LiveAnalyzer::tell(LiveEvent::Kind kind, int step, std::string text) {
    LiveEvent& event = events_.emplace_back();
    event.kind = kind;
    event.step = step;
    event.text = std::move(text);
}

void LiveAnalyzer::setState(LiveRank& rank, RankState state) {
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
void LiveAnalyzer::beginRun(const RunInfo& info) {
    info_ = info;
    board_ = std::make_unique<StepAssembler>(info, options_.board, options_.replicas);
    shared_.reset();
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
    records_of_open_steps_.clear();
    open_records_ = 0;
    late_checks_.clear();
    run_ended_ = false;
    tell(LiveEvent::Kind::RunBegan, 0);
}

void LiveAnalyzer::onRun(Source& source, const OwnHome& home, const RunStatement& statement) {
    if (!StepAssembler::sizesCanBe(statement.info)) {
        ++counts_.bad;
        return;
    }
    source.said = statement;
    source.whose = home;
    source.own_clock = !options_.own_clock.empty() && statement.clock == options_.own_clock;
    if (!info_ || (source.returned && !sameSizes(*info_, statement.info))) beginRun(statement.info);
    if (!sameSizes(*info_, statement.info)) {
        source.said.reset(); // of another run, whose files lie with this one's
        ++counts_.bad;
        return;
    }
    const bool known = home.rank < info_->pp && home.replica < info_->dp && home.tensor_rank < std::max(1, info_->tp);
    if (known)
        window_->setDevice({static_cast<int>(home.replica), Rank{static_cast<std::int32_t>(home.rank)},
                            static_cast<int>(home.tensor_rank)},
                           {statement.host, statement.device});
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

void LiveAnalyzer::heard(LiveRank& rank) {
    if (rank.state == RankState::Running) return;
    if (rank.state == RankState::Late && !board_->doneWithOldest(board_->placeOf(rank.rank.value, rank.replica)))
        return;
    rank.why.clear();
    setState(rank, RankState::Running);
}

void LiveAnalyzer::count(StepAssembler::Taken taken) {
    switch (taken) {
    case StepAssembler::Taken::Yes: break;
    case StepAssembler::Taken::OutOfOrder: ++counts_.out_of_order; break;
    case StepAssembler::Taken::Late: ++counts_.late; break;
    case StepAssembler::Taken::Bad: ++counts_.bad; break;
    }
}

void LiveAnalyzer::onOp(Source& source, const OwnHome& home, const FoundOp& op) {
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

void LiveAnalyzer::onComm(Source& source, const OwnHome& home, const FoundComm& comm) {
    LiveRank* const rank = source.said ? rankOf(home) : nullptr;
    if (rank == nullptr) return;
    ++rank->records;
    count(board_->add(comm, now_));
}

void LiveAnalyzer::onCheck(const OwnHome& home, SeenCheck check) {
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
                      (checks_of_open_steps_.size() < kMaxOpenChecks || checks_of_open_steps_.contains(check.step));
    if (open) checks_of_open_steps_[check.step].add(seen);
    if (check.record && options_.replicas.has(check.record->replica)) keepCheck(std::move(*check.record));
    if (check.outcome != CheckOutcome::Mismatch) return;
    const std::string who = info_->dp > 1 ? fmt::format("rank {} of replica {}", home.rank, home.replica)
                                          : fmt::format("rank {}", home.rank);
    const std::string what = fmt::format("{} ({})", check.name, verdictName(check.verdict));
    tell(LiveEvent::Kind::Mismatch, check.step, fmt::format("{}: {} does not agree", who, what));
    if (!open) return;
    auto& named = mismatches_of_open_steps_[check.step];
    if (named.size() < kMaxMismatches) named.emplace_back(who, what);
}

/// Verdicts may come when their step is closed.
void LiveAnalyzer::keepCheck(CheckRecord record) {
    if (record.rank.value >= info_->pp || record.replica >= info_->dp) return;
    if (record.step <= board_->lastClosed()) {
        if (late_checks_.size() < kMaxRecords) late_checks_.push_back(std::move(record));
    } else if (open_records_ < kMaxRecords) {
        ++open_records_;
        records_of_open_steps_[record.step].push_back(std::move(record));
    }
}

void LiveAnalyzer::onEnd(const OwnHome& home, const StreamEnd& end) {
    LiveRank* const rank = rankOf(home);
    if (rank == nullptr) return;
    rank->unheard = std::max<std::int64_t>(0, end.records - rank->records);
    counts_.unheard += rank->unheard;
    setState(*rank, RankState::Ended);
}

std::vector<LiveEvent> LiveAnalyzer::advance(TimeNs now) {
    now_ = now;
    if (!began_) began_ = now;
    if (board_) {
        while (auto closed = board_->close(now))
            closeStep(std::move(*closed));
        while (auto closed = shared_ ? shared_->close(now) : std::nullopt)
            closeShared(std::move(*closed));
        if (!late_checks_.empty()) {
            alignChecks(late_checks_);
            window_->addChecks(std::exchange(late_checks_, {}));
        }
        if (captured_)
            watchCaptured();
        else
            watchRanks(now);
    }
    return std::exchange(events_, {});
}

void LiveAnalyzer::watchRanks(TimeNs now) {
    const auto over = [this](const LiveRank& rank) {
        return rank.state == RankState::Ended || rank.state == RankState::Gone || !options_.replicas.has(rank.replica);
    };
    if (!run_ended_ && board_->open() == 0 && sharesOver() && std::ranges::all_of(ranks_, over)) {
        run_ended_ = true;
        tell(LiveEvent::Kind::RunEnded, std::max(board_->lastClosed(), shared_ ? shared_->lastClosed() : -1));
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
RunClocks LiveAnalyzer::alignSteps(std::vector<StepTimeline>& timelines) {
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

/// Checks likewise.
void LiveAnalyzer::alignChecks(std::vector<CheckRecord>& checks) {
    if (clocks_.clocks() < 2) return;
    for (CheckRecord& check : checks) {
        const ClockFit& fit = clocks_.fitOf(clock_of_rank_[board_->placeOf(check.rank.value, check.replica)]);
        check.start = fit.toReference(check.start);
        check.end = fit.toReference(check.end);
    }
}

void LiveAnalyzer::closeStep(ClosedStep closed) {
    counts_.duplicates += closed.duplicates;
    ReducedStep step;
    step.index = closed.index;
    if (const auto node = checks_of_open_steps_.extract(closed.index)) step.checks = node.mapped();
    if (auto node = mismatches_of_open_steps_.extract(closed.index)) step.mismatches = std::move(node.mapped());
    const bool any = !closed.timelines.empty();
    const RunClocks clocks = alignSteps(closed.timelines);
    std::vector<CheckRecord> checks;
    if (auto node = records_of_open_steps_.extract(closed.index)) checks = std::move(node.mapped());
    open_records_ -= checks.size();
    alignChecks(checks);
    step.replicas = window_->add(std::move(closed.timelines), clocks, std::move(checks));
    const auto [first, last] = replicas();
    for (int replica = first; replica <= last; ++replica) {
        const auto at = std::ranges::lower_bound(step.replicas, replica, {}, &ReducedReplica::replica);
        if (at != step.replicas.end() && at->replica == replica) continue;
        ReducedReplica& lacking = *step.replicas.insert(at, ReducedReplica{});
        lacking.replica = replica;
        lacking.fault = closed.fault;
        for (const std::size_t place : closed.missing) {
            if (ranks_[place].replica == replica) lacking.unknown.push_back(ranks_[place].rank);
        }
    }
    if (any) tellAnomalies(window_->findings(), step.index);
    keepStep(std::move(step));
}

/// What is known of a step is kept as a sum, and told.
void LiveAnalyzer::keepStep(ReducedStep reduced) {
    const auto [first, last] = replicas();
    for (const ReducedReplica& replica : reduced.replicas) {
        for (const ReducedRank& account : replica.ranks) {
            LiveRank& rank = ranks_[board_->placeOf(account.rank.value, replica.replica)];
            rank.busy += account.busy;
            rank.bubble += account.bubble;
        }
    }
    steps_.push_back(summed(reduced, last - first + 1));
    ++counts_.steps;
    if (!steps_.back().complete) ++counts_.incomplete;
    if (steps_.size() > options_.history) steps_.pop_front();
    tell(LiveEvent::Kind::StepClosed, reduced.index);
    events_.back().reduced = std::move(reduced);
}

void LiveAnalyzer::tellAnomalies(std::vector<Anomaly> found, int step) {
    anomalies_.clear();
    for (Anomaly& anomaly : found) {
        const std::string identity = identityOf(anomaly);
        if (told_.size() >= kMaxTold && !told_.contains(identity)) continue;
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

} // namespace bubblescope::profiler
