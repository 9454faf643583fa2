#include "core/recognise/found_ops.h"
#include "core/recognise/native_args.h"
#include "core/recognise/trace_args.h"
#include "core/recognise/trace_share.h"
#include "core/timeline/trace_names.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

bool sameRun(const RunInfo& a, const RunInfo& b) {
    return a.schedule == b.schedule && a.pp == b.pp && a.microbatches == b.microbatches && a.vpp == b.vpp;
}

std::vector<NativeMarks::Statement> statementsIn(const TraceShare& share) {
    const Trace& trace = share.trace();
    std::vector<NativeMarks::Statement> found;
    for (const Instant& instant : trace.instants()) {
        if (trace.text(instant.category) != trace_names::kRun || trace.text(instant.name) != trace_names::kRunEvent) {
            continue;
        }
        found.push_back(
            {instant.time, share.fileOf(trace.tracks()[instant.track]), nativeRunInfo(TraceArgs{trace, instant.args})});
    }
    return found;
}

std::optional<RunInfo> firstInfo(std::vector<NativeMarks::Statement> statements, std::span<const TraceFile> files,
                                 DiagnosticLog& log) {
    if (statements.empty()) return std::nullopt;
    std::ranges::stable_sort(statements, {}, &NativeMarks::Statement::time);
    for (const NativeMarks::Statement& other : statements) {
        if (sameRun(statements.front().info, other.info)) continue;
        log.add("mixed-runs", files[other.file].path.string(),
                say("files of different runs were loaded together; the first one's settings are used"));
    }
    return std::move(statements.front().info);
}

} // namespace

std::optional<OwnHome> ownHome(const Trace& trace, const Track& track) {
    if (const auto home = ownHome(trace.text(track.process_name))) return home;
    if (const auto rank = trace.files()[track.file].rank) return OwnHome{*rank};
    return std::nullopt;
}

NativeMarks nativeMarks(const TraceShare& share) {
    const Trace& trace = share.trace();
    NativeMarks found;
    found.statements = statementsIn(share);
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> others;
    for (const TrackId id : share.tracksByFile()) {
        const Track& track = trace.tracks()[id];
        const auto home = ownHome(trace, track);
        if (home && home->tensor_rank > 0) {
            others.emplace(home->rank, home->replica, home->tensor_rank);
            continue;
        }
        for (SliceId slice = track.first_slice; home && slice < track.end_slice; ++slice) {
            const std::string_view category = trace.category(slice);
            if (category == trace_names::kOp) {
                auto op = nativeOp(TraceArgs{trace, trace.sliceArgs()[slice]}, trace.start(slice), trace.end(slice));
                if (!op) continue;
                op->home = home->rank;
                op->replica = home->replica;
                found.ops.push_back(*op);
            } else if (const auto kind = nativeCommKind(category)) {
                auto comm =
                    nativeComm(TraceArgs{trace, trace.sliceArgs()[slice]}, *kind, trace.start(slice), trace.end(slice));
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

FoundOps joinNativeMarks(std::vector<NativeMarks> shares, std::span<const TraceFile> files, DiagnosticLog& log) {
    FoundOps found;
    std::vector<NativeMarks::Statement> statements;
    std::int64_t others = 0;
    const auto append = [](auto& to, auto& from) {
        if (to.empty())
            to = std::move(from);
        else
            std::ranges::move(from, std::back_inserter(to));
    };
    for (NativeMarks& share : shares) {
        append(statements, share.statements);
        append(found.ops, share.ops);
        append(found.comm, share.comm);
        others += share.other_tensor_ranks;
    }
    found.info = firstInfo(std::move(statements), files, log);
    if (others > 0) {
        log.add("tensor-parallel", files.empty() ? "" : files.front().path.string(),
                say("further ranks of tensor-parallel groups are not shown: the first stands for its group"), others);
    }
    return found;
}

} // namespace bubblescope
