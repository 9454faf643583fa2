#include "core/formats/perfetto/native_events.h"

#include "core/timeline/trace_names.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace bubblescope::perfetto {
namespace {

std::int64_t number(std::int64_t value) {
    return value;
}

std::string_view kindText(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return "F";
    case OpKind::Backward: return "B";
    case OpKind::BackwardInput: return "I";
    case OpKind::BackwardWeight: return "W";
    case OpKind::Optimizer: return "O";
    }
    return "?";
}

/// The id of one transfer; `stage` is the consumer's.
std::uint64_t transferFlowId(int step, Payload payload, const Op& op, Stage stage) {
    // The top bit keeps it different from 0 and from the small ids of other writers.
    std::uint64_t id = 1;
    const auto append = [&id](std::int32_t value, unsigned bits) {
        id = (id << bits) | (static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << bits) - 1));
    };
    append(step, 18);
    append(payload == Payload::Gradient ? 1 : 0, 1);
    append(op.microbatch.value, 18);
    append(op.sequence, 12);
    append(stage.value, 14);
    return id;
}

} // namespace

SliceArgs opArgs(const Op& op, const OpDetails& details, Stage stage, int step) {
    SliceArgs args;
    args.add("kind", kindText(op.kind));
    args.add("microbatch", number(op.microbatch.value));
    args.add("chunk", number(op.chunk.value));
    args.add("stage", number(stage.value));
    args.add("step", number(step));
    if (details.lateness != TimeNs{0}) args.add("lateness_ns", number(details.lateness.count()));
    if (details.exposed_comm != TimeNs{0}) args.add("exposed_comm_ns", number(details.exposed_comm.count()));
    if (op.sequence != 0) args.add("sequence", number(op.sequence));
    if (op.overlapped) args.add("overlapped", true);
    return args;
}

SliceArgs commArgs(const CommSpan& span, int step) {
    SliceArgs args;
    args.add("payload", payloadName(span.payload));
    args.add("microbatch", number(span.microbatch.value));
    args.add("stage", number(span.stage.value));
    if (span.kind != CommKind::Collective) args.add("peer", number(span.peer.value));
    args.add("step", number(step));
    if (span.sequence != 0) args.add("sequence", number(span.sequence));
    return args;
}

std::vector<Arg> runArgs(const RunInfo& info, const std::string& placement, std::optional<Rank> rank) {
    std::vector<Arg> args{
        {"source", std::string_view(info.source)},
        {"backend", std::string_view(info.backend)},
        {"schedule", std::string_view(info.schedule)},
        {"flavor", std::string_view(info.flavor)},
        {"pp", number(info.pp)},
        {"microbatches", number(info.microbatches)},
        {"vpp", number(info.vpp)},
        {"placement", std::string_view(placement)},
        {"paced", info.paced},
        {"pace_tolerance_ns", number(info.pace_tolerance.count())},
    };
    if (info.steps > 0) args.push_back({"steps", number(info.steps)});
    if (info.dp > 1) args.push_back({"dp", number(info.dp)});
    if (info.tp > 1) args.push_back({"tp", number(info.tp)});
    if (rank) args.push_back({"rank", number(rank->value)});
    if (!info.faults.empty()) args.push_back({"faults", std::string_view(info.faults)});
    return args;
}

std::string_view commCategory(CommKind kind) {
    switch (kind) {
    case CommKind::Send: return trace_names::kSend;
    case CommKind::Receive: return trace_names::kReceive;
    case CommKind::Wait: return trace_names::kWait;
    case CommKind::Collective: return trace_names::kCollective;
    }
    return trace_names::kWait;
}

std::string commName(const CommSpan& span) {
    if (span.kind == CommKind::Collective) return std::string(trace_names::kAllReduce);
    std::string name(commCategory(span.kind));
    name += span.payload == Payload::Activation ? " F" : " B";
    name += std::to_string(span.microbatch.value);
    return name;
}

std::string_view payloadName(Payload payload) {
    return payload == Payload::Activation ? trace_names::kActivation : trace_names::kGradient;
}

std::string_view commTrackName(CommKind kind, Payload payload) {
    const bool activation = payload == Payload::Activation;
    switch (kind) {
    case CommKind::Send: return activation ? "send activation" : "send gradient";
    case CommKind::Receive: return activation ? "receive activation" : "receive gradient";
    case CommKind::Wait: return "wait";
    case CommKind::Collective: return "collective";
    }
    return "wait";
}

FlowIds opFlowIds(const Op& op, Stage stage, const StageWays& ways, int step) {
    FlowIds ids;
    // The first stage's forward and the last stage's backward receive nothing from a neighbour.
    const auto activation = [&](std::optional<Stage> producer) {
        if (!producer || !ways.after(*producer)) return;
        ids.add(transferFlowId(step, Payload::Activation, op, Stage{ways.activationNumber(*producer)}));
    };
    const auto gradient = [&](std::optional<Stage> consumer) {
        if (consumer && ways.after(*consumer)) ids.add(transferFlowId(step, Payload::Gradient, op, *consumer));
    };
    if (op.kind == OpKind::Forward) {
        activation(ways.before(stage));
        activation(ways.joined(stage));
        activation(stage);
    } else if (producesInputGradient(op.kind)) {
        gradient(stage);
        gradient(ways.before(stage));
        gradient(ways.joined(stage));
    }
    return ids;
}

namespace {

std::string hex(std::uint64_t bits) {
    return fmt::format("{:016x}", bits);
}

/// The args shared by checks and digests. The caller keeps `kind`, because args only refer to texts.
template <class Record>
std::vector<Arg> commonArgs(const Record& record, std::string_view kind, Stage stage) {
    std::vector<Arg> args{{"kind", kind},
                          {"microbatch", std::int64_t{record.op.microbatch.value}},
                          {"chunk", std::int64_t{record.op.chunk.value}},
                          {"stage", std::int64_t{stage.value}},
                          {"step", std::int64_t{record.step}},
                          {"layer", std::int64_t{record.layer}},
                          {"tensor", std::string_view(record.tensor)}};
    if (record.op.sequence != 0) args.push_back({"sequence", std::int64_t{record.op.sequence}});
    return args;
}

} // namespace

CheckEvent::CheckEvent(const CheckRecord& check, Stage stage)
    : name_(checkName(check)), kind_(1, opLetter(check.op.kind)), first_(hex(check.first)), second_(hex(check.second)),
      args_(commonArgs(check, kind_, stage)) {
    add({"check", checkKindName(check.kind)});
    add({"outcome", checkOutcomeName(check.outcome)});
    add({"verdict", verdictName(check.verdict)});
    add({"first", std::string_view(first_)});
    add({"second", std::string_view(second_)});
    if (!check.difference) return;
    first_bits_ = fmt::format("{:x}", check.difference->first_bits);
    second_bits_ = fmt::format("{:x}", check.difference->second_bits);
    add({"elements", check.difference->elements});
    add({"differing", check.difference->differing});
    add({"first_index", check.difference->first});
    add({"first_bits", std::string_view(first_bits_)});
    add({"second_bits", std::string_view(second_bits_)});
    if (check.difference->ulp) add({"ulp", *check.difference->ulp});
}

void writeCheck(Encoder& encoder, std::uint64_t track, const CheckRecord& check, Stage stage) {
    const CheckEvent event(check, stage);
    if (check.end > check.start) {
        encoder.beginSlice(track, check.start, trace_names::kCheck, event.name(), event.args());
        encoder.endSlice(track, check.end);
    } else {
        encoder.instant(track, check.start, trace_names::kCheck, event.name(), event.args());
    }
}

void writeDigest(Encoder& encoder, std::uint64_t track, const DigestRecord& digest, Stage stage) {
    const std::string kind(1, opLetter(digest.op.kind));
    const std::string text = hex(digest.digest);
    std::vector<Arg> args = commonArgs(digest, kind, stage);
    args.push_back({"digest", std::string_view(text)});
    encoder.instant(track, digest.time, trace_names::kDigest,
                    fmt::format("{} layer {}", opName(digest.op), digest.layer), args);
}

} // namespace bubblescope::perfetto
