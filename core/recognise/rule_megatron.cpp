#include "core/recognise/found_ops.h"

#include <fmt/format.h>

namespace bubblescope {

FoundOps findMegatronOps(const Trace& trace, DiagnosticLog& log) {
    FoundOps found;
    const StringId forward = trace.strings().find("forward");
    const StringId backward = trace.strings().find("backward");
    std::int64_t unlabelled = 0;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const StringId name = trace.sliceNames()[slice];
        if (name == 0 || (name != forward && name != backward)) continue;
        const ArgSetId args = trace.sliceArgs()[slice];
        const auto microbatch = trace.intArg(args, "microbatch");
        const auto iteration = trace.intArg(args, "iteration");
        if (!microbatch || !iteration) {
            ++unlabelled;
            continue;
        }
        const Track& track = trace.tracks()[trace.sliceTracks()[slice]];
        FoundOp op;
        op.home = trace.intArg(args, "pp_rank").value_or(track.pid);
        op.step = *iteration;
        op.kind = name == forward ? OpKind::Forward : OpKind::Backward;
        op.microbatch = *microbatch;
        op.part = trace.intArg(args, "model_chunk").value_or(0);
        op.start = trace.start(slice);
        op.end = trace.end(slice);
        found.ops.push_back(op);
    }
    if (unlabelled > 0 && !found.ops.empty()) {
        log.add("unlabelled-op", trace.files().front().path.string(),
                "forward and backward slices without micro-batch and iteration are left out", unlabelled);
    }
    return found;
}

} // namespace bubblescope
