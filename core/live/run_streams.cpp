#include "core/live/run_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bubblescope::live {
namespace {

void addStreamCounts(LiveCounts& to, const perfetto::StreamCounts& more) {
    to.bytes += more.bytes;
    to.packets += more.packets;
    to.slices += more.slices;
    to.torn += more.torn;
    to.damaged += more.damaged + more.unmatched;
}

bool hasEnded(RankState state) {
    return state == RankState::Ended || state == RankState::Gone;
}

} // namespace

/// A stream, with what it has reported about itself.
class RunStreams::Source : public RecordSink {
public:
    explicit Source(RunStreams& analyzer)
        : analyzer_(analyzer), stream_(std::make_unique<RecordStream>(*this, analyzer.stream_memory_)) {}

    void onRun(const RecordOwner& owner, const RunStatement& run) override { analyzer_.onRun(*this, owner, run); }
    void onOp(const RecordOwner& owner, const FoundOp& op) override {
        step = std::max<std::int64_t>(step, op.step);
        analyzer_.onOp(*this, owner, op);
    }
    void onComm(const RecordOwner& owner, const FoundComm& comm) override { analyzer_.onComm(*this, owner, comm); }
    void onCheck(const RecordOwner& owner, SeenCheck check) override { analyzer_.onCheck(owner, std::move(check)); }
    void onDigest() override { ++analyzer_.checks_.digests; }
    void onPing(const Ping& ping) override { analyzer_.onPing(ping); }
    void onClocks(const perfetto::ClockReading& clocks) override {
        last_clocks = clocks;
        if (process != nullptr) return; // its times are converted to the wall clock when its files are read
        if (statement) analyzer_.clocks_.addReading(statement->clock, clocks.monotonic, clocks.realtime);
    }
    void onLost(const RecordOwner& owner, std::int64_t records) override {
        analyzer_.counts_.dropped += std::max<std::int64_t>(0, records);
        if (LiveRank* const rank = analyzer_.rankOf(owner)) rank->dropped += std::max<std::int64_t>(0, records);
    }
    void onEnd(const RecordOwner& owner, const StreamEnd& end) override {
        ended = true;
        analyzer_.onEnd(owner, end);
    }
    void onCaptured(const CaptureStatement& captured) override {
        statement = captured.writer;
        process = analyzer_.job_.processOf(captured);
    }
    void onCaptureLosses(std::int64_t events) override {
        if (process == nullptr || events <= process->lost) return; // each part reports the total
        analyzer_.counts_.dropped += events - process->lost;
        process->lost = events;
    }
    void onCaptureRank(int rank) override {
        if (process != nullptr && !process->statement.rank) process->statement.rank = rank; // no launcher reported it
    }
    void onCaptureStands(std::string_view in, TimeNs time) override {
        if (process == nullptr) return;
        process->stands_in = in;
        process->stands_since = analyzer_.now_ - std::clamp(time, TimeNs{0}, analyzer_.now_);
    }
    void onCaptureEnd() override {
        ended = true;
        if (process != nullptr) process->ended = true;
    }
    void onOther() override {
        if (process != nullptr) process->stands_since.reset(); // it continues
    }

    void restart() {
        addStreamCounts(analyzer_.counts_, counts());
        stream_ = std::make_unique<RecordStream>(*this, analyzer_.stream_memory_);
        returned = true;
        ended = false;
        step = -1;
        statement.reset();
        process = nullptr;
    }
    [[nodiscard]] RecordStream& stream() { return *stream_; }
    [[nodiscard]] const perfetto::StreamCounts& counts() const { return stream_->counts(); }

    std::optional<RunStatement> statement; ///< at its beginning
    std::optional<RecordOwner> writer;     ///< the rank that writes the stream
    std::optional<perfetto::ClockReading> last_clocks;
    RecordedProcess* process = nullptr; ///< for a recorded job, the process that writes the stream
    std::int64_t step = -1;             ///< latest step of the stream's ops
    bool ended = false;
    bool returned = false; ///< true if the stream was restarted and has not contained an op since
    bool own_clock = false;

private:
    RunStreams& analyzer_;
    std::unique_ptr<RecordStream> stream_;
};

RunStreams::RunStreams(Options options) : options_(std::move(options)) {}
RunStreams::~RunStreams() = default;

// ---- Streams in -----------------------------------------------------------------------------------------

RunStreams::Stream RunStreams::open(const std::string&) {
    const auto free = std::ranges::find_if(sources_, [](const auto& source) { return source == nullptr; });
    const auto stream = static_cast<Stream>(free - sources_.begin());
    if (free == sources_.end()) sources_.emplace_back();
    sources_[stream] = std::make_unique<Source>(*this);
    return stream;
}

void RunStreams::feed(Stream stream, std::string_view bytes, TimeNs now) {
    now_ = now;
    if (!began_) began_ = now;
    Source& source = *sources_[stream];
    source.stream().feed(bytes);
    if (source.process != nullptr && !bytes.empty()) source.process->last_received = now;
}

std::size_t RunStreams::pending(Stream stream) const {
    return sources_[stream]->stream().pending();
}

void RunStreams::dropPending(Stream stream) {
    sources_[stream]->stream().dropPending();
}

void RunStreams::restart(Stream stream) {
    sources_[stream]->restart();
}

void RunStreams::close(Stream stream) {
    addStreamCounts(counts_, sources_[stream]->counts());
    sources_[stream].reset();
}

std::optional<RunStatement> RunStreams::statementOf(Stream stream) const {
    return sources_[stream]->statement;
}

std::int64_t RunStreams::stepOf(Stream stream) const {
    return sources_[stream]->step;
}

bool RunStreams::streamEnded(Stream stream) const {
    const Source& source = *sources_[stream];
    if (source.process != nullptr) return source.process->hasEnded();
    const auto rank = std::ranges::find_if(ranks_, [&](const LiveRank& one) {
        return source.writer && one.rank.value == source.writer->rank && one.replica == source.writer->replica;
    });
    return source.ended || (rank != ranks_.end() && bubblescope::live::hasEnded(rank->state));
}

bool RunStreams::isCaptured(Stream stream) const {
    return sources_[stream]->process != nullptr;
}

void RunStreams::gone(Stream stream, const std::string& reason) {
    Source& source = *sources_[stream];
    if (source.process != nullptr) {
        source.process->gone = true;
        source.process->reason = reason;
        return;
    }
    LiveRank* const rank = source.writer ? rankOf(*source.writer) : nullptr;
    if (rank == nullptr || source.ended || rank->state == RankState::Ended) return;
    rank->reason = reason;
    setState(*rank, RankState::Gone);
}

LiveCounts RunStreams::counts() const {
    LiveCounts all = counts_;
    for (const auto& source : sources_) {
        if (source) addStreamCounts(all, source->counts());
    }
    return all;
}

std::int64_t RunStreams::cutStreams() const {
    return std::ranges::count_if(sources_, [](const auto& source) { return source && source->stream().pending() > 0; });
}

// ---- The run and its ranks ------------------------------------------------------------------------------

/// Null for all ranks of a tensor-parallel group except the first one, which represents the group.
LiveRank* RunStreams::rankOf(const RecordOwner& owner) {
    if (!info_ || owner.tensor_rank != 0 || owner.rank >= info_->pp || owner.replica >= info_->dp) return nullptr;
    return &ranks_[assembler_->placeOf(owner.rank, owner.replica)];
}

LiveEvent& RunStreams::report(LiveEvent::Kind kind, int step, std::string text) {
    LiveEvent& event = events_.emplace_back();
    event.kind = kind;
    event.step = step;
    event.text = std::move(text);
    return event;
}

void RunStreams::setState(LiveRank& rank, RankState state) {
    if (rank.state == state) return;
    rank.state = state;
    if (hasEnded(state)) over_at_ = now_;
    assembler_->setEnded(placeOf(rank), hasEnded(state));
    report(LiveEvent::Kind::RankChanged, rank.step).rank = rank;
}

void RunStreams::setReceived(LiveRank& rank) {
    heard_[placeOf(rank)] = now_;
    if (rank.state == RankState::Running) return;
    if (rank.state == RankState::Late && !assembler_->doneWithOldest(placeOf(rank))) return;
    rank.reason.clear();
    setState(rank, RankState::Running);
}

/// Resets the state of a run. Streams and their counts are not affected.
void RunStreams::beginRun(const RunInfo& info) {
    onBegin(info);
    info_ = info;
    assembler_ = std::make_unique<StepAssembler>(info, options_.assembly);
    ranks_.assign(assembler_->places(), {});
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
        ranks_[place].replica = static_cast<int>(place) / info.pp;
        ranks_[place].rank = Rank{static_cast<int>(place) % info.pp};
    }
    clocks_.setPlaces(ranks_.size(), info.pp);
    heard_.assign(ranks_.size(), now_);
    over_at_.reset();
    checks_ = {};
    open_checks_ = {};
    run_ended_ = false;
    report(LiveEvent::Kind::RunBegan, 0);
}

void RunStreams::count(StepAssembler::AddResult taken) {
    switch (taken) {
    case StepAssembler::AddResult::Yes: break;
    case StepAssembler::AddResult::OutOfOrder: ++counts_.out_of_order; break;
    case StepAssembler::AddResult::Late: ++counts_.late; break;
    case StepAssembler::AddResult::Bad: ++counts_.bad; break;
    }
}

// ---- Records of ranks -----------------------------------------------------------------------------------

void RunStreams::onRun(Source& source, const RecordOwner& owner, const RunStatement& statement) {
    if (!StepAssembler::sizesCanBe(statement.info)) {
        ++counts_.bad;
        return;
    }
    source.statement = statement;
    source.writer = owner;
    source.own_clock = !options_.own_clock.empty() && statement.clock == options_.own_clock;
    if (!info_ || (source.returned && !sameSizes(*info_, statement.info))) beginRun(statement.info);
    if (!sameSizes(*info_, statement.info)) {
        source.statement.reset(); // it belongs to another run whose files are in the same folder
        ++counts_.bad;
        return;
    }
    const bool known =
        owner.rank < info_->pp && owner.replica < info_->dp && owner.tensor_rank < std::max(1, info_->tp);
    if (known)
        onDevice({static_cast<int>(owner.replica), Rank{static_cast<std::int32_t>(owner.rank)},
                  static_cast<int>(owner.tensor_rank)},
                 {statement.host, statement.device});
    LiveRank* const rank = rankOf(owner);
    if (rank == nullptr) return;
    // A stream that starts again after its rank ended may belong to another run.
    if (hasEnded(rank->state) && statement.segment == 0) source.returned = true;
    if (source.returned && statement.segment == 0) rank->records = 0;
    rank->host = statement.host;
    rank->pid = statement.pid;
    clocks_.setClock(placeOf(*rank), statement.clock);
    if (source.last_clocks)
        clocks_.addReading(statement.clock, source.last_clocks->monotonic, source.last_clocks->realtime);
    setReceived(*rank);
}

void RunStreams::onOp(Source& source, const RecordOwner& owner, const FoundOp& op) {
    LiveRank* rank = source.statement ? rankOf(owner) : nullptr;
    if (rank == nullptr) return;
    if (source.returned) {
        source.returned = false;
        if (op.step <= assembler_->lastClosed()) { // a closed step occurs again, so this is another run
            const RunInfo info = source.statement->info;
            beginRun(info);
            rank = rankOf(owner);
        }
    }
    ++rank->records;
    if (source.own_clock && op.end >= *began_) latency_.add(std::max(TimeNs{0}, now_ - op.end));
    count(assembler_->add(op, now_));
    rank->step = assembler_->latest(placeOf(*rank));
    setReceived(*rank);
}

void RunStreams::onComm(Source& source, const RecordOwner& owner, const FoundComm& comm) {
    LiveRank* const rank = source.statement ? rankOf(owner) : nullptr;
    if (rank == nullptr) return;
    ++rank->records;
    count(assembler_->add(comm, now_));
}

void RunStreams::onCheck(const RecordOwner& owner, SeenCheck check) {
    if (!info_) return;
    const CheckCounts seen = countsOf(check);
    checks_.add(seen);
    const int last_closed = assembler_->lastClosed();
    const bool open = open_checks_.count(check.step, seen, last_closed);
    if (check.record && check.record->rank.value < info_->pp && check.record->replica < info_->dp)
        open_checks_.keep(std::move(*check.record), last_closed);
    if (check.outcome != CheckOutcome::Mismatch) return;
    const std::string who = info_->dp > 1 ? fmt::format("rank {} of replica {}", owner.rank, owner.replica)
                                          : fmt::format("rank {}", owner.rank);
    const std::string what = fmt::format("{} ({})", check.name, verdictName(check.verdict));
    LiveEvent& event = report(LiveEvent::Kind::Mismatch, check.step, fmt::format("{}: mismatch in {}", who, what));
    event.rank.replica = static_cast<int>(owner.replica);
    event.rank.rank = Rank{static_cast<std::int32_t>(owner.rank)};
    if (open) open_checks_.addMismatch(check.step, {who, what});
}

void RunStreams::onPing(const Ping& ping) {
    const auto clockOf = [this](int rank) {
        if (!info_ || rank < 0) return std::string();
        // Ranks of a run are numbered pp x dp x tp, where tp varies fastest.
        const int in_replicas = rank / std::max(1, info_->tp);
        return clocks_.clockAt(static_cast<std::size_t>(in_replicas % info_->dp * info_->pp + in_replicas / info_->dp));
    };
    const std::string replier = clockOf(ping.replier);
    if (!replier.empty()) clocks_.addPing(clockOf(ping.asker), replier, ping);
}

void RunStreams::onEnd(const RecordOwner& owner, const StreamEnd& end) {
    LiveRank* const rank = rankOf(owner);
    if (rank == nullptr) return;
    rank->undelivered = std::max<std::int64_t>(0, end.records - rank->records);
    counts_.undelivered += rank->undelivered;
    setState(*rank, RankState::Ended);
}

// ---- Steps of recorded jobs -----------------------------------------------------------------------------

void RunStreams::takeRun(const Run& run, bool settled) {
    if (run.steps.empty()) return;
    const RunInfo info = CapturedJob::infoOf(run);
    if (!StepAssembler::sizesCanBe(info)) return;
    // A longer trace may show another schedule or more ranks, in which case all steps are new.
    if (!info_ || !sameSizes(*info_, info)) {
        job_.restart();
        beginRun(info);
    }
    for (const auto& [place, device] : run.checks.devices)
        onDevice(place, device);
    std::vector<ClosedStep> fresh = job_.newSteps(run, settled);
    std::size_t left = fresh.size();
    for (ClosedStep& closed : fresh) {
        --left;
        for (const StepTimeline& step : closed.timelines) {
            LiveRank* rank = &ranks_[assembler_->placeOf(0, step.replica)];
            for (std::size_t r = 0; r < step.ranks.size(); ++r, ++rank) {
                rank->step = closed.index;
                rank->records += static_cast<std::int64_t>(step.ranks[r].size());
                if (rank->state == RankState::Awaited) setState(*rank, RankState::Running);
            }
        }
        for (CheckRecord& check : closed.checks) {
            const RecordOwner owner{check.rank.value, check.replica, check.tensor_rank};
            SeenCheck seen{check.step, check.outcome, check.verdict, checkName(check), check.start, check.end, {}};
            seen.record = std::move(check);
            onCheck(owner, std::move(seen));
        }
        closeStep(std::move(closed), {left > 0, left});
    }
}

/// The ops of such ranks are recognised later, and all together. Until then, only the recording itself shows their
/// state.
void RunStreams::watchCaptured() {
    const TimeNs patience = options_.assembly.patience / 2; // the same limit as for ranks that report their steps
    for (const auto& [place, process] : job_.byRank(info_->pp)) {
        const auto [in_pipeline, replica] = place;
        if (in_pipeline >= info_->pp || replica >= info_->dp) continue;
        LiveRank& rank = ranks_[assembler_->placeOf(in_pipeline, replica)];
        rank.host = process->statement.writer.host;
        rank.pid = process->statement.writer.pid;
        rank.dropped = process->lost;
        const RankState state = job_.stateOf(*process, patience);
        rank.reason = state == RankState::Gone   ? process->reason
                      : state == RankState::Late ? job_.whyLate(*process, patience)
                                                 : "";
        setState(rank, state);
    }
    if (run_ended_ || !job_.isComplete()) return;
    for (LiveRank& rank : ranks_) { // ranks whose processes are unknown
        if (rank.state == RankState::Running) setState(rank, RankState::Ended);
    }
    run_ended_ = true;
    report(LiveEvent::Kind::RunEnded, job_.steps() - 1);
}

// ---- Steps out ------------------------------------------------------------------------------------------

std::vector<LiveEvent> RunStreams::advance(TimeNs now) {
    now_ = now;
    if (!began_) began_ = now;
    if (assembler_) {
        for (auto closed = assembler_->close(now); closed;) {
            auto next = assembler_->close(now);
            closeStep(std::move(*closed), {next.has_value(), assembler_->open() + (next ? 1 : 0)});
            closed = std::move(next);
        }
        onNoMoreSteps(assembler_->open());
        if (std::vector<CheckRecord> late = open_checks_.takeLate(); !late.empty()) {
            clocks_.align(late);
            onLateChecks(std::move(late));
        }
        if (captured())
            watchCaptured();
        else
            watchRanks(now);
    }
    return takeEvents();
}

void RunStreams::watchRanks(TimeNs now) {
    const auto over = [](const LiveRank& rank) { return hasEnded(rank.state); };
    if (!run_ended_ && assembler_->open() == 0 && std::ranges::all_of(ranks_, over)) {
        run_ended_ = true;
        report(LiveEvent::Kind::RunEnded, assembler_->lastClosed());
    }
    giveUpSilent(now);
    // Half of the time after which a step is dropped, so that it is reported earlier.
    const auto since = assembler_->waitingSince();
    if (!since || now - *since < options_.assembly.patience / 2) return;
    for (LiveRank& rank : ranks_) {
        if (assembler_->doneWithOldest(placeOf(rank))) continue;
        if (rank.state == RankState::Awaited) rank.reason = "none of its records could be read";
        if (rank.state == RankState::Running || rank.state == RankState::Awaited) setState(rank, RankState::Late);
    }
}

/// If others have ended, no more data will arrive from a rank whose file is missing or damaged, or whose sender is
/// lost.
void RunStreams::giveUpSilent(TimeNs now) {
    if (!over_at_ || now - *over_at_ < options_.assembly.patience) return;
    const auto isAwaited = [](const LiveRank& rank) { return rank.records == 0 && !hasEnded(rank.state); };
    const bool any_ended =
        std::ranges::any_of(ranks_, [](const LiveRank& rank) { return rank.state == RankState::Ended; });
    // If ranks were killed, the remaining ranks may wait for them for a long time, but the missing records will not
    // arrive.
    const bool others_over =
        std::ranges::all_of(ranks_, [&](const LiveRank& rank) { return hasEnded(rank.state) || isAwaited(rank); });
    for (LiveRank& rank : ranks_) {
        const std::size_t place = placeOf(rank);
        if (hasEnded(rank.state)) continue;
        if (now - heard_[place] < options_.assembly.patience || (!any_ended && !others_over)) continue;
        rank.reason = isAwaited(rank) ? "none of its records could be read"
                                      : fmt::format("no records for {} after other ranks had ended",
                                                    formatTime(now - heard_[place]));
        setState(rank, RankState::Gone);
    }
}

void RunStreams::closeStep(ClosedStep closed, FollowingSteps following) {
    counts_.duplicates += closed.duplicates;
    ++counts_.steps;
    if (static_cast<int>(closed.timelines.size()) < info_->dp) ++counts_.incomplete;
    closed.clocks = std::make_shared<const RunClocks>(clocks_.align(closed.timelines, ranks_));
    OpenChecks::OfStep checks = open_checks_.take(closed.index);
    closed.checks = std::move(checks.records);
    clocks_.align(closed.checks);
    closed.check_counts = checks.counts;
    closed.mismatches = std::move(checks.mismatches);
    onStep(std::move(closed), following);
}

} // namespace bubblescope::live
