#pragma once

#include "core/base/text.h"
#include "core/recognise/found_ops.h"
#include "core/timeline/checks.h"
#include "core/timeline/trace_names.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Records in native files (core/timeline/trace_names.h), parsed from named values from any source: a loaded trace, or
/// a stream that is still being written. `Args` has integer(name) and text(name), which return optionals.
namespace bubblescope {

/// The rank that owns a track, parsed from the name of its process.
struct RecordOwner {
    std::int64_t rank = 0;
    std::int64_t replica = 0;
    std::int64_t tensor_rank = 0;
};

/// Parses "rank R of replica D, tensor rank T"; nullopt for other names.
[[nodiscard]] std::optional<RecordOwner> recordOwner(std::string_view process);

[[nodiscard]] inline std::optional<CommKind> nativeCommKind(std::string_view category) {
    if (category == trace_names::kSend) return CommKind::Send;
    if (category == trace_names::kReceive) return CommKind::Receive;
    if (category == trace_names::kWait) return CommKind::Wait;
    if (category == trace_names::kCollective) return CommKind::Collective;
    return std::nullopt;
}

template <class Args>
[[nodiscard]] RunInfo nativeRunInfo(const Args& args) {
    const auto number = [&](std::string_view name) { return static_cast<int>(args.integer(name).value_or(1)); };
    const auto words = [&](std::string_view name) { return std::string(args.text(name).value_or("")); };
    RunInfo info;
    info.source = words("source");
    info.backend = words("backend");
    info.schedule = words("schedule");
    info.flavor = words("flavor");
    info.pp = number("pp");
    info.dp = number("dp");
    info.tp = number("tp");
    info.microbatches = number("microbatches");
    info.vpp = number("vpp");
    info.steps = static_cast<int>(args.integer("steps").value_or(0));
    info.placement = placementFromName(words("placement")).value_or(Placement::Loop);
    info.paced = args.integer("paced").value_or(0) != 0;
    info.faults = words("faults");
    info.pace_tolerance = TimeNs{args.integer("pace_tolerance_ns").value_or(0)};
    return info;
}

/// A step or part number from a record, clamped to the range of int.
[[nodiscard]] inline int statedNumber(std::int64_t number) {
    return static_cast<int>(std::clamp<std::int64_t>(number, -1, std::numeric_limits<int>::max()));
}

/// The record at the beginning of a rank's file.
struct RunStatement {
    RunInfo info;
    std::string host;
    std::string clock; ///< files with equal names share a clock
    std::int64_t pid = 0;
    std::string pids;        ///< the PID namespace of `pid`
    int segment = 0;         ///< above 0 if this file continues another file that was full
    std::string device = {}; ///< identifies the hardware; may be empty
};

template <class Args>
[[nodiscard]] RunStatement nativeRunStatement(const Args& args) {
    const auto number = [&](std::string_view name) { return args.integer(name).value_or(0); };
    const auto words = [&](std::string_view name) { return std::string(args.text(name).value_or("")); };
    return {nativeRunInfo(args), words("host"), words("clock"),
            number("pid"),       words("pids"), statedNumber(number("segment")),
            words("device")};
}

/// Does not set owner or replica. Returns nullopt if a required field is missing.
template <class Args>
[[nodiscard]] std::optional<FoundOp> nativeOp(const Args& args, TimeNs start, TimeNs end) {
    const auto kind = args.text("kind");
    const auto microbatch = args.integer("microbatch");
    const auto chunk = args.integer("chunk");
    if (!kind || kind->size() != 1 || !opKindFromLetter(kind->front()) || !microbatch || !chunk) return std::nullopt;
    FoundOp op;
    op.kind = *opKindFromLetter(kind->front());
    op.microbatch = *microbatch;
    op.chunk_or_stage = *chunk;
    op.step = args.integer("step").value_or(0);
    op.start = start;
    op.end = end;
    op.details.lateness = TimeNs{args.integer("lateness_ns").value_or(0)};
    op.details.exposed_comm = TimeNs{args.integer("exposed_comm_ns").value_or(0)};
    op.sequence = args.integer("sequence").value_or(0);
    op.overlapped = args.integer("overlapped").value_or(0) != 0;
    return op;
}

/// As above, for a send, a receive, a wait or a collective.
template <class Args>
[[nodiscard]] std::optional<FoundComm> nativeComm(const Args& args, CommKind kind, TimeNs start, TimeNs end) {
    const auto payload = args.text("payload");
    const auto microbatch = args.integer("microbatch");
    const auto stage = args.integer("stage");
    if (!payload || !microbatch || !stage) return std::nullopt;
    FoundComm comm;
    comm.kind = kind;
    comm.payload = *payload == trace_names::kGradient ? Payload::Gradient : Payload::Activation;
    comm.microbatch = *microbatch;
    comm.stage = *stage;
    comm.step = args.integer("step").value_or(0);
    comm.start = start;
    comm.end = end;
    comm.sequence = args.integer("sequence").value_or(0);
    return comm;
}

/// Upper bound on the number of steps, ops, layers and ranks.
inline constexpr std::int64_t kMaxOwnCount = std::int64_t{1} << 30;

[[nodiscard]] inline bool placeCanBe(const RecordOwner& place) {
    return place.rank < kMaxOwnCount && place.replica < kMaxOwnCount && place.tensor_rank < kMaxOwnCount;
}

/// Reads the args of one record and remembers the first error.
template <class Args>
class NativeRecordReader {
public:
    /// Copies `args`, which is cheap because it only refers to data.
    explicit NativeRecordReader(Args args) : args_(std::move(args)) {}

    template <class To = int>
    To count(std::string_view name) {
        const auto value = args_.integer(name);
        if (!value || *value < 0 || *value >= kMaxOwnCount) return fail<To>(name);
        return To{static_cast<std::int32_t>(*value)};
    }
    template <class To = int>
    To countOr(std::string_view name, std::int32_t otherwise) {
        return args_.integer(name) ? count<To>(name) : To{otherwise};
    }
    std::int64_t size(std::string_view name) {
        const auto value = args_.integer(name);
        return value && *value >= 0 ? *value : fail<std::int64_t>(name);
    }
    std::string words(std::string_view name) {
        const auto value = args_.text(name);
        return value ? std::string(*value) : fail<std::string>(name);
    }
    /// Parses up to 16 hexadecimal digits.
    std::uint64_t bits(std::string_view name) {
        const auto value = parseNumber<std::uint64_t>(words(name), 16);
        return value ? *value : fail<std::uint64_t>(name);
    }
    template <class Value>
    Value parsed(std::string_view name, std::optional<Value> (*parse)(std::string_view)) {
        const auto value = parse(words(name));
        return value ? *value : fail<Value>(name);
    }
    [[nodiscard]] bool has(std::string_view name) const { return args_.integer(name) || args_.text(name); }
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const { return args_.integer(name); }

    /// Name of the first arg that was missing or had the wrong type; empty if none.
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

private:
    template <class To>
    To fail(std::string_view name) {
        if (wrong_.empty()) wrong_ = name;
        return To{};
    }

    Args args_;
    std::string wrong_;
};

[[nodiscard]] inline std::optional<OpKind> nativeKind(std::string_view text) {
    return text.size() == 1 ? opKindFromLetter(text.front()) : std::nullopt;
}

/// Reads the fields common to checks and digests.
template <class Args, class Record>
void readNativeRecord(NativeRecordReader<Args>& in, const RecordOwner& place, bool of_an_op, Record& record) {
    record.step = in.count("step");
    record.rank = Rank{static_cast<std::int32_t>(place.rank)};
    record.replica = static_cast<int>(place.replica);
    record.tensor_rank = static_cast<int>(place.tensor_rank);
    record.tensor = in.words("tensor");
    if (!of_an_op && !in.has("kind")) return;
    record.op.kind = in.parsed("kind", nativeKind);
    record.op.microbatch = in.template count<Microbatch>("microbatch");
    record.op.chunk = in.template count<Chunk>("chunk");
    record.op.sequence = sequenceSlice(in.countOr("sequence", 0));
    record.layer = in.count("layer");
}

/// The result is unusable if NativeRecordReader::wrong() is not empty.
template <class Args>
[[nodiscard]] CheckRecord nativeCheck(NativeRecordReader<Args>& in, const RecordOwner& place, TimeNs start,
                                      TimeNs end) {
    CheckRecord check;
    check.kind = in.parsed("check", parseCheckKind);
    check.outcome = in.parsed("outcome", parseCheckOutcome);
    check.verdict = in.has("verdict") ? in.parsed("verdict", parseVerdict) : Verdict::Open;
    readNativeRecord(in, place, check.kind != CheckKind::KnownAnswer, check);
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

template <class Args>
[[nodiscard]] DigestRecord nativeDigest(NativeRecordReader<Args>& in, const RecordOwner& place, TimeNs time) {
    DigestRecord digest;
    readNativeRecord(in, place, true, digest);
    digest.digest = in.bits("digest");
    digest.time = time;
    return digest;
}

/// True if a check is marked as equal but has two different digests.
[[nodiscard]] inline bool contradictsItself(const CheckRecord& check) {
    return check.outcome == CheckOutcome::Equal && check.first != check.second;
}

} // namespace bubblescope
