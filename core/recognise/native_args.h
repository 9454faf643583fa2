#pragma once

#include "core/recognise/found_ops.h"
#include "core/timeline/trace_names.h"

#include <optional>
#include <string>
#include <string_view>

/// What our own files say (core/timeline/trace_names.h), read from named values, whoever holds them: a loaded trace, or
/// a stream that is still being written. `Args` has integer(name) and text(name), which return optionals.
namespace bubblescope {

/// Whose track it is, by the name of its process.
struct OwnHome {
    std::int64_t rank = 0;
    std::int64_t replica = 0;
    std::int64_t tensor_rank = 0;
};

/// Of "rank R of replica D, tensor rank T"; nothing for other names.
[[nodiscard]] std::optional<OwnHome> ownHome(std::string_view process);

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
    info.placement = placementFromName(words("placement")).value_or(Placement::Loop);
    info.paced = args.integer("paced").value_or(0) != 0;
    info.faults = words("faults");
    info.pace_tolerance = TimeNs{args.integer("pace_tolerance_ns").value_or(0)};
    return info;
}

/// Without home and replica. Nothing where what makes an op is missing.
template <class Args>
[[nodiscard]] std::optional<FoundOp> nativeOp(const Args& args, TimeNs start, TimeNs end) {
    const auto kind = args.text("kind");
    const auto microbatch = args.integer("microbatch");
    const auto chunk = args.integer("chunk");
    if (!kind || kind->size() != 1 || !opKindFromLetter(kind->front()) || !microbatch || !chunk) return std::nullopt;
    FoundOp op;
    op.kind = *opKindFromLetter(kind->front());
    op.microbatch = *microbatch;
    op.part = *chunk;
    op.step = args.integer("step").value_or(0);
    op.start = start;
    op.end = end;
    op.lateness = TimeNs{args.integer("lateness_ns").value_or(0)};
    op.exposed_comm = TimeNs{args.integer("exposed_comm_ns").value_or(0)};
    op.sequence = args.integer("sequence").value_or(0);
    op.overlapped = args.integer("overlapped").value_or(0) != 0;
    return op;
}

/// The same for one side of a transfer, a wait or a collective.
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

} // namespace bubblescope
