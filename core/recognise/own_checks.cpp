#include "core/recognise/own_checks.h"

#include "core/recognise/found_ops.h"
#include "core/recognise/own_args.h"
#include "core/timeline/trace_names.h"

#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::int64_t kMostCount = std::int64_t{1} << 30;

/// The args of one record, with what is wrong in them.
class RecordReader {
public:
    RecordReader(const Trace& trace, ArgSetId args) : trace_(trace), args_(args) {}

    /// What counts steps, ops and layers; no run counts further.
    template <class To = int>
    To count(std::string_view name) {
        const auto value = trace_.intArg(args_, name);
        if (!value || *value < 0 || *value >= kMostCount) return fail<To>(name);
        return To{static_cast<std::int32_t>(*value)};
    }
    template <class To = int>
    To countOr(std::string_view name, std::int32_t otherwise) {
        return trace_.intArg(args_, name) ? count<To>(name) : To{otherwise};
    }
    std::int64_t size(std::string_view name) {
        const auto value = trace_.intArg(args_, name);
        return value && *value >= 0 ? *value : fail<std::int64_t>(name);
    }
    std::string words(std::string_view name) {
        auto value = trace_.textArg(args_, name);
        return value ? std::move(*value) : fail<std::string>(name);
    }
    /// Hexadecimal digits, up to 16.
    std::uint64_t bits(std::string_view name) {
        const std::string text = words(name);
        std::uint64_t value = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, 16);
        if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return fail<std::uint64_t>(name);
        return value;
    }
    template <class Value>
    Value parsed(std::string_view name, std::optional<Value> (*parse)(std::string_view)) {
        const auto value = parse(words(name));
        return value ? *value : fail<Value>(name);
    }
    [[nodiscard]] bool has(std::string_view name) const { return trace_.arg(args_, name).has_value(); }
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const { return trace_.intArg(args_, name); }

    /// The first arg that was missing or not of its kind; empty if none was.
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

private:
    template <class To>
    To fail(std::string_view name) {
        if (wrong_.empty()) wrong_ = name;
        return To{};
    }

    const Trace& trace_;
    ArgSetId args_;
    std::string wrong_;
};

std::optional<OpKind> kindOf(std::string_view text) {
    return text.size() == 1 ? opKindFromLetter(text.front()) : std::nullopt;
}

/// What a check and a digest both say.
template <class Record>
void readCommon(RecordReader& in, const OwnHome& place, bool of_an_op, Record& record) {
    record.step = in.count("step");
    record.rank = Rank{static_cast<std::int32_t>(place.rank)};
    record.replica = static_cast<int>(place.replica);
    record.tensor_rank = static_cast<int>(place.tensor_rank);
    record.tensor = in.words("tensor");
    if (!of_an_op && !in.has("kind")) return;
    record.op.kind = in.parsed("kind", kindOf);
    record.op.microbatch = in.count<Microbatch>("microbatch");
    record.op.chunk = in.count<Chunk>("chunk");
    record.op.sequence = in.countOr("sequence", 0);
    record.layer = in.count("layer");
}

CheckRecord checkOf(RecordReader& in, const OwnHome& place, TimeNs start, TimeNs end) {
    CheckRecord check;
    check.kind = in.parsed("check", parseCheckKind);
    check.outcome = in.parsed("outcome", parseCheckOutcome);
    check.verdict = in.has("verdict") ? in.parsed("verdict", parseVerdict) : Verdict::Open;
    readCommon(in, place, check.kind != CheckKind::KnownAnswer, check);
    const bool ended = check.outcome == CheckOutcome::Equal || check.outcome == CheckOutcome::Mismatch;
    if (ended || in.has("first")) check.first = in.bits("first");
    if (ended || in.has("second")) check.second = in.bits("second");
    check.start = start;
    check.end = end;
    if (check.outcome == CheckOutcome::Mismatch && in.has("elements")) {
        check.difference = TensorDifference{in.size("elements"),   in.size("differing"),   in.size("first_index"),
                                            in.bits("first_bits"), in.bits("second_bits"), in.number("ulp")};
    }
    return check;
}

DigestRecord digestOf(RecordReader& in, const OwnHome& place, TimeNs time) {
    DigestRecord digest;
    readCommon(in, place, true, digest);
    digest.digest = in.bits("digest");
    digest.time = time;
    return digest;
}

class CheckReader {
public:
    explicit CheckReader(const TraceShare& share)
        : trace_(share.trace()), check_(trace_.strings().find(trace_names::kCheck)),
          digest_(trace_.strings().find(trace_names::kDigest)), run_(trace_.strings().find(trace_names::kRun)) {}

    OwnChecks read() {
        if (check_ == 0 && digest_ == 0) return {};
        for (const Track& track : trace_.tracks()) {
            if (!trace_.text(track.thread_name).starts_with(trace_names::kReplay)) continue;
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                if (trace_.sliceCategories()[slice] == check_)
                    addCheck(track, trace_.sliceArgs()[slice], trace_.start(slice), trace_.end(slice));
            }
        }
        for (const Instant& instant : trace_.instants()) {
            const Track& track = trace_.tracks()[instant.track];
            if (instant.category == check_ && check_ != 0)
                addCheck(track, instant.args, instant.time, instant.time);
            else if (instant.category == digest_ && digest_ != 0)
                addDigest(track, instant);
            else if (instant.category == run_ && trace_.text(instant.name) == trace_names::kRunEvent)
                addDevice(track, instant.args);
        }
        out_.problems = log_.take();
        return std::move(out_);
    }

private:
    std::string where(const Track& track) const { return trace_.files()[track.file].path.string(); }

    /// Whether a record of the track may be used.
    bool usable(const Track& track, const std::optional<OwnHome>& place) {
        const bool sound =
            place && place->rank < kMostCount && place->replica < kMostCount && place->tensor_rank < kMostCount;
        if (sound) return true;
        log_.add("bad-check", where(track), say("checks and digests of no rank are left out"));
        return false;
    }
    bool sound(const Track& track, const RecordReader& in) {
        if (in.wrong().empty()) return true;
        log_.add("bad-check", where(track),
                 say("checks and digests are left out whose '{}' is missing or not what it should be", in.wrong()));
        return false;
    }

    void addCheck(const Track& track, ArgSetId args, TimeNs start, TimeNs end) {
        const auto place = ownHome(trace_, track);
        if (!usable(track, place)) return;
        RecordReader in(trace_, args);
        CheckRecord check = checkOf(in, *place, start, end);
        if (!sound(track, in)) return;
        if (check.outcome == CheckOutcome::Equal && check.first != check.second) {
            log_.add("bad-check", where(track), say("checks that claim to be equal and have two digests are left out"));
            return;
        }
        out_.checks.push_back(std::move(check));
    }
    void addDigest(const Track& track, const Instant& instant) {
        const auto place = ownHome(trace_, track);
        if (!usable(track, place)) return;
        RecordReader in(trace_, instant.args);
        DigestRecord digest = digestOf(in, *place, instant.time);
        if (sound(track, in)) out_.digests.push_back(std::move(digest));
    }
    void addDevice(const Track& track, ArgSetId args) {
        const auto place = ownHome(trace_, track);
        if (!place || !usable(track, place)) return;
        CheckedDevice device{trace_.textArg(args, "host").value_or(""), trace_.textArg(args, "device").value_or("")};
        if (device.host.empty() && device.device.empty()) return;
        out_.devices.emplace_back(CheckPlace{static_cast<int>(place->replica),
                                             Rank{static_cast<std::int32_t>(place->rank)},
                                             static_cast<int>(place->tensor_rank)},
                                  std::move(device));
    }

    const Trace& trace_;
    StringId check_;
    StringId digest_;
    StringId run_;
    OwnChecks out_;
    DiagnosticLog log_;
};

} // namespace

OwnChecks ownChecks(const TraceShare& share) {
    return CheckReader(share).read();
}

CheckLog joinOwnChecks(std::vector<OwnChecks> shares, DiagnosticLog& log) {
    CheckLog all;
    for (OwnChecks& share : shares) {
        std::ranges::move(share.checks, std::back_inserter(all.checks));
        std::ranges::move(share.digests, std::back_inserter(all.digests));
        for (auto& [place, device] : share.devices)
            all.devices.try_emplace(place, std::move(device));
        for (Diagnostic& problem : share.problems)
            log.add(std::move(problem.kind), std::move(problem.where), std::move(problem.message), problem.count);
    }
    all.sort();
    return all;
}

} // namespace bubblescope
