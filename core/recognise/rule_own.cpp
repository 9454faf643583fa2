#include "core/recognise/found_ops.h"
#include "core/recognise/trace_share.h"
#include "core/timeline/trace_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

/// The number that follows `prefix` at the begin of `text`, which is cut off.
std::optional<std::int64_t> numberAfter(std::string_view prefix, std::string_view& text) {
    if (!text.starts_with(prefix)) return std::nullopt;
    const std::string_view digits = text.substr(prefix.size());
    std::int64_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (parsed.ec != std::errc{} || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return number;
}

struct Home {
    std::int64_t rank = 0;
    std::int64_t replica = 0;
    std::int64_t tensor_rank = 0;
};

std::optional<Home> homeOf(const Trace& trace, const Track& track) {
    std::string_view process = trace.text(track.process_name);
    if (const auto rank = numberAfter("rank ", process)) {
        const std::int64_t replica = numberAfter(" of replica ", process).value_or(0);
        return Home{*rank, replica, numberAfter(", tensor rank ", process).value_or(0)};
    }
    if (const auto rank = trace.files()[track.file].rank) return Home{*rank};
    return std::nullopt;
}

RunInfo runInfo(const Trace& trace, ArgSetId args) {
    const auto number = [&](std::string_view name) { return static_cast<int>(trace.intArg(args, name).value_or(1)); };
    const auto words = [&](std::string_view name) { return std::string(trace.textArg(args, name).value_or("")); };
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
    info.paced = trace.intArg(args, "paced").value_or(0) != 0;
    info.faults = words("faults");
    info.pace_tolerance = TimeNs{trace.intArg(args, "pace_tolerance_ns").value_or(0)};
    return info;
}

bool sameRun(const RunInfo& a, const RunInfo& b) {
    return a.schedule == b.schedule && a.pp == b.pp && a.microbatches == b.microbatches && a.vpp == b.vpp;
}

std::vector<OwnMarks::Statement> statementsIn(const TraceShare& share) {
    const Trace& trace = share.trace();
    std::vector<OwnMarks::Statement> found;
    for (const Instant& instant : trace.instants()) {
        if (trace.text(instant.category) != trace_names::kRun || trace.text(instant.name) != trace_names::kRunEvent) {
            continue;
        }
        found.push_back({instant.time, share.fileOf(trace.tracks()[instant.track]), runInfo(trace, instant.args)});
    }
    return found;
}

std::optional<RunInfo> firstInfo(std::vector<OwnMarks::Statement> statements, std::span<const TraceFile> files,
                                 DiagnosticLog& log) {
    if (statements.empty()) return std::nullopt;
    std::ranges::stable_sort(statements, {}, &OwnMarks::Statement::time);
    for (const OwnMarks::Statement& other : statements) {
        if (sameRun(statements.front().info, other.info)) continue;
        log.add("mixed-runs", files[other.file].path.string(),
                "files of different runs were loaded together; the first one's settings are used");
    }
    return std::move(statements.front().info);
}

std::optional<FoundOp> opOf(const Trace& trace, SliceId slice) {
    const ArgSetId args = trace.sliceArgs()[slice];
    const auto kind = trace.textArg(args, "kind");
    const auto microbatch = trace.intArg(args, "microbatch");
    const auto chunk = trace.intArg(args, "chunk");
    if (!kind || kind->size() != 1 || !opKindFromLetter(kind->front()) || !microbatch || !chunk) return std::nullopt;
    FoundOp op;
    op.kind = *opKindFromLetter(kind->front());
    op.microbatch = *microbatch;
    op.part = *chunk;
    op.step = trace.intArg(args, "step").value_or(0);
    op.start = trace.start(slice);
    op.end = trace.end(slice);
    op.lateness = TimeNs{trace.intArg(args, "lateness_ns").value_or(0)};
    op.exposed_comm = TimeNs{trace.intArg(args, "exposed_comm_ns").value_or(0)};
    op.sequence = trace.intArg(args, "sequence").value_or(0);
    op.overlapped = trace.intArg(args, "overlapped").value_or(0) != 0;
    return op;
}

std::optional<CommKind> commKind(std::string_view category) {
    if (category == trace_names::kSend) return CommKind::Send;
    if (category == trace_names::kReceive) return CommKind::Receive;
    if (category == trace_names::kWait) return CommKind::Wait;
    if (category == trace_names::kCollective) return CommKind::Collective;
    return std::nullopt;
}

std::optional<FoundComm> commOf(const Trace& trace, SliceId slice, CommKind kind) {
    const ArgSetId args = trace.sliceArgs()[slice];
    const auto payload = trace.textArg(args, "payload");
    const auto microbatch = trace.intArg(args, "microbatch");
    const auto stage = trace.intArg(args, "stage");
    if (!payload || !microbatch || !stage) return std::nullopt;
    FoundComm comm;
    comm.kind = kind;
    comm.payload = *payload == trace_names::kGradient ? Payload::Gradient : Payload::Activation;
    comm.microbatch = *microbatch;
    comm.stage = *stage;
    comm.step = trace.intArg(args, "step").value_or(0);
    comm.start = trace.start(slice);
    comm.end = trace.end(slice);
    comm.sequence = trace.intArg(args, "sequence").value_or(0);
    return comm;
}

} // namespace

OwnMarks ownMarks(const TraceShare& share) {
    const Trace& trace = share.trace();
    OwnMarks found;
    found.statements = statementsIn(share);
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> others;
    for (const TrackId id : share.tracksByFile()) {
        const Track& track = trace.tracks()[id];
        const auto home = homeOf(trace, track);
        if (home && home->tensor_rank > 0) {
            others.emplace(home->rank, home->replica, home->tensor_rank);
            continue;
        }
        for (SliceId slice = track.first_slice; home && slice < track.end_slice; ++slice) {
            const std::string_view category = trace.category(slice);
            if (category == trace_names::kOp) {
                auto op = opOf(trace, slice);
                if (!op) continue;
                op->home = home->rank;
                op->replica = home->replica;
                found.ops.push_back(*op);
            } else if (const auto kind = commKind(category)) {
                auto comm = commOf(trace, slice, *kind);
                if (!comm) continue;
                comm->home = home->rank;
                comm->replica = home->replica;
                found.comm.push_back(*comm);
            }
        }
    }
    found.other_tensor_ranks = static_cast<std::int64_t>(others.size());
    return found;
}

FoundOps joinOwnMarks(std::vector<OwnMarks> shares, std::span<const TraceFile> files, DiagnosticLog& log) {
    FoundOps found;
    std::vector<OwnMarks::Statement> statements;
    std::int64_t others = 0;
    const auto append = [](auto& to, auto& from) {
        if (to.empty())
            to = std::move(from);
        else
            std::ranges::move(from, std::back_inserter(to));
    };
    for (OwnMarks& share : shares) {
        append(statements, share.statements);
        append(found.ops, share.ops);
        append(found.comm, share.comm);
        others += share.other_tensor_ranks;
    }
    found.info = firstInfo(std::move(statements), files, log);
    if (others > 0) {
        log.add("tensor-parallel", files.empty() ? "" : files.front().path.string(),
                "further ranks of tensor-parallel groups are not shown: the first stands for its group", others);
    }
    return found;
}

} // namespace bubblescope
