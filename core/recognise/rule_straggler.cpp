#include "core/recognise/found_ops.h"
#include "core/recognise/straggler_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

// Timelines as published with ByteDance's study of stragglers: an array of slices named by op type, a process for each
// data-parallel rank, and threads that tell pipeline and tensor rank in their name, whatever their numbers.
namespace bubblescope {
namespace {

/// A transfer's slice: "forward-send" is the activation for the next stage.
struct Transfer {
    std::string_view name;
    CommKind kind;
    Payload payload;
    int to_consumer; ///< from the stage that has the slice to the one that consumes the payload
};
constexpr std::array kTransfers{
    Transfer{"forward-send", CommKind::Send, Payload::Activation, 1},
    Transfer{"forward-recv", CommKind::Receive, Payload::Activation, 0},
    Transfer{"backward-send", CommKind::Send, Payload::Gradient, -1},
    Transfer{"backward-recv", CommKind::Receive, Payload::Gradient, 0},
};

std::optional<OpKind> opKindOf(std::string_view name) {
    if (name == "forward-compute") return OpKind::Forward;
    if (name == "backward-compute") return OpKind::Backward;
    if (name == "optimizer") return OpKind::Optimizer;
    return std::nullopt;
}

} // namespace

FoundOps findStragglerOps(const Trace& trace, DiagnosticLog& log) {
    FoundOps found;
    if (trace.strings().find("forward-compute") == 0) return found;
    std::int64_t other_tp = 0;
    bool several_chunks = false;
    for (const Track& track : trace.tracks()) {
        const auto place = stragglerPlace(trace, track);
        if (!place) continue;
        if (place->tp != 0) { // they compute the same ops at the same time
            ++other_tp;
            continue;
        }
        for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
            const std::string_view name = trace.name(slice);
            const ArgSetId args = trace.sliceArgs()[slice];
            if (const auto kind = opKindOf(name)) {
                const auto step = trace.intArg(args, "step");
                const auto microbatch = trace.intArg(args, "mb_id");
                if (!step || (!microbatch && *kind != OpKind::Optimizer)) continue;
                FoundOp op;
                op.home = place->pp;
                op.replica = place->dp;
                op.step = *step;
                op.kind = *kind;
                op.microbatch = *kind == OpKind::Optimizer ? 0 : *microbatch;
                op.part = *kind == OpKind::Optimizer ? 0 : trace.intArg(args, "model_chunk").value_or(0);
                op.start = trace.start(slice);
                op.end = trace.end(slice);
                several_chunks = several_chunks || op.part > 0;
                found.ops.push_back(op);
                continue;
            }
            const auto transfer = std::find_if(kTransfers.begin(), kTransfers.end(),
                                               [name](const Transfer& known) { return known.name == name; });
            if (transfer == kTransfers.end()) continue;
            FoundComm comm;
            comm.home = place->pp;
            comm.replica = place->dp;
            comm.step = trace.intArg(args, "step").value_or(0);
            comm.kind = transfer->kind;
            comm.payload = transfer->payload;
            // Transfers have no micro-batch; with one chunk a rank, their order is that of the micro-batches.
            comm.microbatch = trace.intArg(args, "seq_id").value_or(-1);
            comm.stage = place->pp + transfer->to_consumer;
            comm.start = trace.start(slice);
            comm.end = trace.end(slice);
            found.comm.push_back(comm);
        }
    }
    if (found.ops.empty()) return found;
    if (several_chunks) {
        log.add("unassigned-transfer", trace.files().front().path.string(),
                "transfers do not say which chunk they belong to and are left out",
                static_cast<std::int64_t>(found.comm.size()));
        found.comm.clear();
    }
    if (other_tp > 0) {
        log.add("tensor-parallel", trace.files().front().path.string(),
                "threads of further tensor-parallel ranks are not shown: the first stands for its group", other_tp);
    }
    return found;
}

} // namespace bubblescope
