#include "core/live/collector_summary.h"

#include "core/base/text.h"
#include "core/formats/perfetto/native_events.h"
#include "core/live/live_analyzer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

namespace bubblescope::live {
namespace {

using perfetto::Arg;
using Args = std::vector<Arg>;

constexpr std::string_view kBegin = "begin";
constexpr std::string_view kRank = "rank";
constexpr std::string_view kReplica = "replica";
constexpr std::string_view kRanks = "ranks"; ///< as a difference to the previous replica, some at a time: texts must
                                             ///< stay short
constexpr std::string_view kFinding = "finding";
constexpr std::string_view kStep = "step";
constexpr std::string_view kSearch = "search";
constexpr std::string_view kEnd = "end";
constexpr std::string_view kEvidence = "evidence.";
// Bounds what a hostile stream could grow.
constexpr std::size_t kMaxRanks = std::size_t{1} << 16;
constexpr std::size_t kMaxReplicas = std::size_t{1} << 16;
constexpr std::size_t kMaxFindings = 1000;
constexpr std::size_t kRanksTogether = 32;

/// The counts that collectors send to each other.
auto numbersOf(auto& counts) {
    auto& [records, checks] = counts;
    return std::array{&records.slices,  &records.torn,   &records.damaged, &records.duplicates,  &records.out_of_order,
                      &records.late,    &records.bad,    &records.dropped, &records.undelivered, &checks.equal,
                      &checks.mismatch, &checks.aborted, &checks.skipped,  &checks.digests};
}

class Numbers {
public:
    void add(std::int64_t number) { text_ += fmt::format("{}{}", text_.empty() ? "" : " ", number); }
    [[nodiscard]] std::string_view text() const { return text_; }

private:
    std::string text_;
};

class NumberReader {
public:
    explicit NumberReader(std::string_view text) : text_(text) {}
    [[nodiscard]] bool atEnd() const { return text_.empty(); }
    /// 0 if there is none, and then bad() holds.
    std::int64_t next() {
        const auto number = takeNumber<std::int64_t>(text_);
        bad_ = bad_ || !number;
        if (!text_.empty()) text_.remove_prefix(1);
        return number.value_or(0);
    }
    int nextInt() {
        constexpr std::int64_t kMax = std::numeric_limits<int>::max();
        return static_cast<int>(std::clamp<std::int64_t>(next(), -1, kMax));
    }
    TimeNs nextTime() { return TimeNs{next()}; }
    [[nodiscard]] bool bad() const { return bad_; }

private:
    std::string_view text_;
    bool bad_ = false;
};

int smallNumber(const perfetto::StreamEvent& event, std::string_view name, int otherwise) {
    const auto value = event.integer(name);
    if (!value) return otherwise;
    return static_cast<int>(std::clamp<std::int64_t>(*value, -1, std::numeric_limits<int>::max()));
}

std::optional<double> realNumber(const perfetto::StreamEvent& event, std::string_view name) {
    for (const Arg& arg : event.args) {
        if (arg.name != name) continue;
        if (const double* const real = std::get_if<double>(&arg.value)) return *real;
    }
    return std::nullopt;
}

std::string words(const perfetto::StreamEvent& event, std::string_view name) {
    return std::string(event.text(name).value_or(""));
}

void addCounts(Args& args, const SummaryCounts& counts, Numbers& numbers) {
    for (const std::int64_t* const number : numbersOf(counts))
        numbers.add(*number);
    numbers.add(counts.checks.time.count());
    args.push_back({"counts", numbers.text()});
}

SummaryCounts countsOf(const perfetto::StreamEvent& event) {
    SummaryCounts counts;
    NumberReader numbers(event.text("counts").value_or(""));
    for (std::int64_t* const number : numbersOf(counts))
        *number = std::max<std::int64_t>(0, numbers.next());
    counts.checks.time = std::max(TimeNs{0}, numbers.nextTime());
    return counts;
}

SummaryBegin beginOf(const perfetto::StreamEvent& event) {
    SummaryBegin begin;
    begin.statement = {nativeRunInfo(event),  words(event, "host"),
                       words(event, "clock"), event.integer("pid").value_or(0),
                       words(event, "pids"),  smallNumber(event, "segment", 0)};
    begin.first = smallNumber(event, "first", -1);
    begin.last = smallNumber(event, "last", -1);
    begin.run = smallNumber(event, "run", 0);
    return begin;
}

std::optional<RankState> stateNamed(std::string_view name) {
    for (const RankState state :
         {RankState::Awaited, RankState::Running, RankState::Late, RankState::Gone, RankState::Ended}) {
        if (rankStateName(state) == name) return state;
    }
    return std::nullopt;
}

std::optional<LiveRank> rankOf(const perfetto::StreamEvent& event) {
    const auto state = stateNamed(event.text("state").value_or(""));
    if (!state) return std::nullopt;
    LiveRank rank;
    rank.state = *state;
    rank.replica = smallNumber(event, "replica", -1);
    rank.rank = Rank{smallNumber(event, "rank", -1)};
    rank.host = words(event, "host");
    rank.pid = event.integer("pid").value_or(0);
    rank.reason = words(event, "why");
    return rank;
}

/// Adds a replica to a step; false if it is damaged.
bool addReplica(const perfetto::StreamEvent& event, SummaryStep& into) {
    ReducedReplica replica;
    replica.replica = smallNumber(event, "replica", -1);
    replica.complete = event.integer("complete").value_or(0) != 0;
    replica.fault = words(event, "fault");
    replica.wall = TimeNs{event.integer("wall_ns").value_or(0)};
    replica.bubble_rate = realNumber(event, "bubble_rate").value_or(0);
    replica.expected_rate = realNumber(event, "expected_bubble_rate");
    replica.values.loss = realNumber(event, "loss");
    for (const auto& [name, member] : kStepCounts)
        replica.values.*member = event.integer(name);
    for (NumberReader unknown(event.text("unknown").value_or("")); !unknown.atEnd() && !unknown.bad();)
        replica.unknown.push_back(Rank{unknown.nextInt()});
    if (replica.replica < 0 || into.step.replicas.size() >= kMaxReplicas) return false;
    into.step.replicas.push_back(std::move(replica));
    return true;
}

bool addRanks(const perfetto::StreamEvent& event, SummaryStep& into) {
    if (into.step.replicas.empty()) return false;
    ReducedReplica& replica = into.step.replicas.back();
    NumberReader numbers(event.text("accounts").value_or(""));
    while (!numbers.atEnd() && !numbers.bad() && replica.ranks.size() < kMaxRanks) {
        ReducedRank& rank = replica.ranks.emplace_back();
        rank.rank = Rank{replica.ranks.size() - 1};
        rank.busy = numbers.nextTime();
        rank.bubble = numbers.nextTime();
        const TimeNs expected = numbers.nextTime();
        if (replica.expected_rate) rank.expected_bubble = expected;
        for (TimeNs& cause : rank.causes)
            cause = numbers.nextTime();
    }
    NumberReader received(event.text("heard").value_or(""));
    for (int r = smallNumber(event, "from", 0); !received.atEnd() && !received.bad() && into.ranks.size() < kMaxRanks;
         ++r) {
        LiveRank& rank = into.ranks.emplace_back();
        rank.replica = replica.replica;
        rank.rank = Rank{r};
        rank.step = received.nextInt();
        rank.records = received.next();
        rank.dropped = received.next();
        rank.undelivered = received.next();
    }
    return !numbers.bad() && !received.bad();
}

std::optional<LiveAnomaly> findingOf(const perfetto::StreamEvent& event) {
    LiveAnomaly found;
    Anomaly& anomaly = found.anomaly;
    const std::string_view kind = event.text("kind").value_or("");
    const auto known = std::ranges::find(anomalyKinds(), kind, &AnomalyKindInfo::name);
    if (known == anomalyKinds().end()) return std::nullopt; // possibly of a later version
    anomaly.kind = known->kind;
    for (const Severity severity : {Severity::Notice, Severity::Warning, Severity::Serious}) {
        if (severityName(severity) == event.text("severity").value_or("")) anomaly.severity = severity;
    }
    const auto number = [&](std::string_view name) -> std::optional<int> {
        if (!event.integer(name)) return std::nullopt;
        return smallNumber(event, name, -1);
    };
    if (const auto rank = number("rank")) anomaly.rank = Rank{*rank};
    if (const auto peer = number("peer")) anomaly.peer = Rank{*peer};
    if (const auto chunk = number("chunk")) anomaly.chunk = Chunk{*chunk};
    anomaly.replica = number("replica");
    anomaly.step = number("step");
    anomaly.op = parseOpName(event.text("op").value_or(""));
    const auto start = event.integer("start_ns");
    const auto end = event.integer("end_ns");
    if (start && end) anomaly.when = TimeInterval{TimeNs{*start}, TimeNs{*end}};
    anomaly.cost = TimeNs{event.integer("cost_ns").value_or(0)};
    NumberReader seen(event.text("seen").value_or(""));
    anomaly.seen.cases = seen.next();
    for (int* const steps : {&anomaly.seen.steps, &anomaly.seen.of_steps, &anomaly.seen.since_first,
                             &anomaly.seen.first, &anomaly.seen.last})
        *steps = seen.nextInt();
    anomaly.seen.goes_on = seen.next() != 0;
    anomaly.seen.total = seen.nextTime();
    anomaly.seen.latest = std::bit_cast<std::uint64_t>(seen.next());
    if (seen.bad()) anomaly.seen = {};
    anomaly.message = words(event, "message");
    anomaly.suggestion = words(event, "suggestion");
    for (const Arg& arg : event.args) {
        const double* const value = std::get_if<double>(&arg.value);
        if (value != nullptr && arg.name.starts_with(kEvidence))
            anomaly.evidence.emplace_back(arg.name.substr(kEvidence.size()), *value);
    }
    found.found_at = smallNumber(event, "found_at", 0);
    found.last_at = smallNumber(event, "last_at", 0);
    return found;
}

/// The step, once all its parts have arrived.
SummaryStep finished(const perfetto::StreamEvent& event, SummaryStep step) {
    step.step.index = smallNumber(event, "step", -1);
    step.counts = countsOf(event);
    NumberReader numbers(event.text("checks").value_or(""));
    CheckCounts& checks = step.step.checks;
    for (std::int64_t* const number :
         {&checks.equal, &checks.mismatch, &checks.aborted, &checks.skipped, &checks.digests})
        *number = std::max<std::int64_t>(0, numbers.next());
    checks.time = std::max(TimeNs{0}, numbers.nextTime());
    constexpr std::size_t kMaxMismatches = 100;
    std::string_view lines = event.text("mismatches").value_or("");
    while (!lines.empty() && step.step.mismatches.size() < kMaxMismatches) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(lines.size(), line.size() + 1));
        const std::size_t tab = std::min(line.find('\t'), line.size());
        step.step.mismatches.emplace_back(line.substr(0, tab), line.substr(std::min(tab + 1, line.size())));
    }
    return step;
}

constexpr std::uint64_t kProcess = std::uint64_t{1} << 32; ///< the only process in the file
constexpr std::uint64_t kTrack = kProcess + 1;

} // namespace

SummaryCounts difference(SummaryCounts later, const SummaryCounts& earlier) {
    const auto before = numbersOf(earlier);
    const auto numbers = numbersOf(later);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        *numbers[i] -= *before[i];
    later.checks.time -= earlier.checks.time;
    return later;
}

void add(SummaryCounts& to, const SummaryCounts& more) {
    const auto numbers = numbersOf(to);
    const auto added = numbersOf(more);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        *numbers[i] += *added[i];
    to.checks.time += more.checks.time;
}

SummaryReader::DecodeResult SummaryReader::take(const perfetto::StreamEvent& event, SummaryRecord& record) {
    if (event.name == kReplica) return addReplica(event, step_) ? DecodeResult::Part : DecodeResult::Bad;
    if (event.name == kRanks) return addRanks(event, step_) ? DecodeResult::Part : DecodeResult::Bad;
    if (event.name == kFinding) {
        auto finding = findingOf(event);
        if (finding && found_.size() < kMaxFindings) found_.push_back(std::move(*finding));
        return finding ? DecodeResult::Part : DecodeResult::Bad;
    }
    if (event.name == kBegin) {
        step_ = {};
        found_.clear();
        record.what = beginOf(event);
        return DecodeResult::Whole;
    }
    if (event.name == kRank) {
        auto rank = rankOf(event);
        if (!rank) return DecodeResult::Bad;
        record.what = std::move(*rank);
        return DecodeResult::Whole;
    }
    if (event.name == kStep) {
        record.what = finished(event, std::exchange(step_, {}));
        return DecodeResult::Whole;
    }
    if (event.name == kSearch) {
        record.what =
            LiveSearch{smallNumber(event, "step", -1), smallNumber(event, "steps", -1), std::exchange(found_, {})};
        return DecodeResult::Whole;
    }
    if (event.name != kEnd) return DecodeResult::Bad;
    record.what = SummaryEnd{countsOf(event)};
    return DecodeResult::Whole;
}

void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const SummaryBegin& begin) {
    Args args = perfetto::runArgs(begin.statement.info, {});
    args.push_back({"host", std::string_view(begin.statement.host)});
    args.push_back({"clock", std::string_view(begin.statement.clock)});
    args.push_back({"pid", begin.statement.pid});
    args.push_back({"pids", std::string_view(begin.statement.pids)});
    args.push_back({"segment", std::int64_t{begin.statement.segment}});
    args.push_back({"first", std::int64_t{begin.first}});
    args.push_back({"last", std::int64_t{begin.last}});
    args.push_back({"run", std::int64_t{begin.run}});
    encoder.instant(track, now, summary_names::kCategory, kBegin, args);
}

void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const LiveRank& rank) {
    const Args args{{"replica", std::int64_t{rank.replica}},
                    {"rank", std::int64_t{rank.rank.value}},
                    {"state", rankStateName(rank.state)},
                    {"host", std::string_view(rank.host)},
                    {"pid", rank.pid},
                    {"why", std::string_view(rank.reason)}};
    encoder.instant(track, now, summary_names::kCategory, kRank, args);
}

namespace {

void encodeReplica(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const ReducedReplica& replica) {
    Numbers unknown;
    for (const Rank rank : replica.unknown)
        unknown.add(rank.value);
    Args args{{"replica", std::int64_t{replica.replica}}, {"complete", replica.complete}};
    if (replica.complete) {
        args.push_back({"wall_ns", replica.wall.count()});
        args.push_back({"bubble_rate", replica.bubble_rate});
        if (replica.expected_rate) args.push_back({"expected_bubble_rate", *replica.expected_rate});
        if (replica.values.loss) args.push_back({"loss", *replica.values.loss});
        for (const auto& [name, member] : kStepCounts)
            if (replica.values.*member) args.push_back({name, *(replica.values.*member)});
    } else {
        args.push_back({"fault", std::string_view(replica.fault)});
        args.push_back({"unknown", unknown.text()});
    }
    encoder.instant(track, now, summary_names::kCategory, kReplica, args);
}

/// `ranks` are the replica's, in order.
void encodeRanks(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const ReducedReplica& replica,
                 std::span<const LiveRank> ranks) {
    for (std::size_t from = 0; from < ranks.size(); from += kRanksTogether) {
        Numbers accounts;
        Numbers received;
        for (std::size_t r = from; r < std::min(ranks.size(), from + kRanksTogether); ++r) {
            const LiveRank& rank = ranks[r];
            for (const std::int64_t number : {std::int64_t{rank.step}, rank.records, rank.dropped, rank.undelivered})
                received.add(number);
            if (r >= replica.ranks.size()) continue;
            const ReducedRank& account = replica.ranks[r];
            for (const TimeNs time : {account.busy, account.bubble, account.expected_bubble.value_or(TimeNs{0})})
                accounts.add(time.count());
            for (const TimeNs cause : account.causes)
                accounts.add(cause.count());
        }
        const Args args{
            {"from", static_cast<std::int64_t>(from)}, {"heard", received.text()}, {"accounts", accounts.text()}};
        encoder.instant(track, now, summary_names::kCategory, kRanks, args);
    }
}

void encodeFinding(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const LiveAnomaly& found) {
    const Anomaly& anomaly = found.anomaly;
    std::vector<std::string> names; // keeps the strings that args view
    names.reserve(anomaly.evidence.size() + 2);
    Args args{{"kind", anomalyKindName(anomaly.kind)}, {"severity", severityName(anomaly.severity)}};
    const auto add = [&args](std::string_view name, const auto& id) {
        if (id) args.push_back({name, std::int64_t{id->value}});
    };
    add("rank", anomaly.rank);
    add("peer", anomaly.peer);
    add("chunk", anomaly.chunk);
    if (anomaly.replica) args.push_back({"replica", std::int64_t{*anomaly.replica}});
    if (anomaly.step) args.push_back({"step", std::int64_t{*anomaly.step}});
    if (anomaly.op) args.push_back({"op", std::string_view(names.emplace_back(opName(*anomaly.op)))});
    if (anomaly.when) {
        args.push_back({"start_ns", anomaly.when->start.count()});
        args.push_back({"end_ns", anomaly.when->end.count()});
    }
    args.push_back({"cost_ns", anomaly.cost.count()});
    Numbers seen;
    for (const std::int64_t number :
         {anomaly.seen.cases, std::int64_t{anomaly.seen.steps}, std::int64_t{anomaly.seen.of_steps},
          std::int64_t{anomaly.seen.since_first}, std::int64_t{anomaly.seen.first}, std::int64_t{anomaly.seen.last},
          std::int64_t{anomaly.seen.goes_on}, anomaly.seen.total.count(),
          std::bit_cast<std::int64_t>(anomaly.seen.latest)})
        seen.add(number);
    args.push_back({"seen", std::string_view(names.emplace_back(seen.text()))});
    args.push_back({"message", std::string_view(anomaly.message.text())});
    args.push_back({"suggestion", std::string_view(anomaly.suggestion.text())});
    for (const auto& [name, value] : anomaly.evidence)
        args.push_back({names.emplace_back(std::string(kEvidence) + name), value});
    args.push_back({"found_at", std::int64_t{found.found_at}});
    args.push_back({"last_at", std::int64_t{found.last_at}});
    encoder.instant(track, now, summary_names::kCategory, kFinding, args);
}

} // namespace

void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const SummaryStep& step) {
    for (const ReducedReplica& replica : step.step.replicas) {
        encodeReplica(encoder, track, now, replica);
        const auto from = std::ranges::lower_bound(step.ranks, replica.replica, {}, &LiveRank::replica);
        const auto to = std::ranges::upper_bound(step.ranks, replica.replica, {}, &LiveRank::replica);
        encodeRanks(encoder, track, now, replica, {from, to});
    }
    const CheckCounts& counted = step.step.checks;
    Numbers checks;
    for (const std::int64_t number :
         {counted.equal, counted.mismatch, counted.aborted, counted.skipped, counted.digests, counted.time.count()})
        checks.add(number);
    std::string mismatches;
    for (const auto& [who, what] : step.step.mismatches)
        mismatches += fmt::format("{}{}\t{}", mismatches.empty() ? "" : "\n", who, what);
    Numbers numbers;
    Args args{{"step", std::int64_t{step.step.index}},
              {"checks", checks.text()},
              {"mismatches", std::string_view(mismatches)}};
    addCounts(args, step.counts, numbers);
    encoder.instant(track, now, summary_names::kCategory, kStep, args);
}

void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const LiveSearch& search) {
    for (std::size_t i = 0; i < std::min(kMaxFindings, search.found.size()); ++i)
        encodeFinding(encoder, track, now, search.found[i]);
    const Args args{{"step", std::int64_t{search.step}}, {"steps", std::int64_t{search.steps}}};
    encoder.instant(track, now, summary_names::kCategory, kSearch, args);
}

void encodeSummary(perfetto::Encoder& encoder, std::uint64_t track, TimeNs now, const SummaryEnd& end) {
    Numbers numbers;
    Args args;
    addCounts(args, end.counts, numbers);
    encoder.instant(track, now, summary_names::kCategory, kEnd, args);
}

std::filesystem::path SummaryWriter::pathOf(const LiveAnalyzer& analyzer, int segment) const {
    const auto [first, last] = analyzer.replicas();
    return dir_ / (segment == 0 ? fmt::format("replicas{}-{}.pftrace", first, last)
                                : fmt::format("replicas{}-{}.{}.pftrace", first, last, segment));
}

Status SummaryWriter::beginFile(const LiveAnalyzer& analyzer, TimeNs now) {
    BUBBLESCOPE_ASSIGN(file_, perfetto::PacketFile::create(pathOf(analyzer, segment_)));
    const auto [first, last] = analyzer.replicas();
    constexpr std::uint32_t kSequence = 1;
    encoder_.emplace(kSequence);
    encoder_->process(kProcess, static_cast<std::int32_t>(process_.pid), fmt::format("replicas {} to {}", first, last),
                      first);
    encoder_->track(kTrack, kProcess, "steps", 0);
    const ClockPair clocks = readClocks();
    encoder_->clockSnapshot(clocks.monotonic, clocks.realtime);
    const RunStatement statement{*analyzer.info(), process_.host, process_.clock,
                                 process_.pid,     process_.pids, segment_};
    encodeSummary(*encoder_, kTrack, now, SummaryBegin{statement, first, last, run_});
    // Readers of this file alone do not know the states yet.
    for (const LiveRank& rank : analyzer.ranks()) {
        if (rank.replica >= first && rank.replica <= last && rank.state != RankState::Awaited)
            encodeSummary(*encoder_, kTrack, now, rank);
    }
    return file_->append(encoder_->take());
}

Status SummaryWriter::writeOut(const LiveAnalyzer& analyzer, TimeNs now) {
    BUBBLESCOPE_TRY(file_->append(encoder_->take()));
    if (limits_.segment_bytes == 0 || file_->length() < limits_.segment_bytes) return {};
    ++segment_;
    BUBBLESCOPE_TRY(beginFile(analyzer, now));
    std::error_code ignored; // it does no harm if it is gone already
    if (limits_.segments > 0 && segment_ >= limits_.segments)
        std::filesystem::remove(pathOf(analyzer, segment_ - limits_.segments), ignored);
    return {};
}

SummaryCounts SummaryWriter::countsSince(const LiveAnalyzer& analyzer) {
    const SummaryCounts all{analyzer.counts(), analyzer.checks()};
    SummaryCounts since = difference(all, told_);
    told_ = all;
    return since;
}

Status SummaryWriter::write(const LiveAnalyzer& analyzer, const std::vector<LiveEvent>& events, TimeNs now) {
    for (const LiveEvent& event : events) {
        if (event.kind == LiveEvent::Kind::RunBegan) {
            ++run_;
            told_.checks = {};
            if (file_) {
                encodeSummary(*encoder_, kTrack, now, SummaryEnd{countsSince(analyzer)});
                BUBBLESCOPE_TRY(file_->append(encoder_->take()));
                ++segment_;
            }
            BUBBLESCOPE_TRY(beginFile(analyzer, now));
        } else if (event.kind == LiveEvent::Kind::RankChanged) {
            encodeSummary(*encoder_, kTrack, now, event.rank);
        } else if (event.kind == LiveEvent::Kind::StepClosed) {
            encodeSummary(*encoder_, kTrack, now, SummaryStep{event.reduced, analyzer.ranks(), countsSince(analyzer)});
        } else if (event.kind == LiveEvent::Kind::Searched) {
            encodeSummary(*encoder_, kTrack, now, *event.search);
        }
    }
    return file_ ? writeOut(analyzer, now) : Status();
}

Status SummaryWriter::end(LiveAnalyzer& analyzer, TimeNs now) {
    BUBBLESCOPE_TRY(write(analyzer, analyzer.conclude(), now));
    if (!file_) return {};
    encodeSummary(*encoder_, kTrack, now, SummaryEnd{countsSince(analyzer)});
    return file_->append(encoder_->take());
}

} // namespace bubblescope::live
