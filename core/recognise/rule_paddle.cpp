#include "core/recognise/found_ops.h"
#include "core/recognise/name_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

// PaddlePaddle names jobs in four ways, all of which tell kind, chunk and micro-batch:
//   static-graph job log      forward0, backward_b1, optimizer       and the arg micro_batch_id
//   its Chrome form           forward_3                              on threads "GPU0"
//   paddle.profiler           forward0-3                             among user-defined events
//   dynamic graph             F0, B3_VP1                             on threads numbered from 1
namespace bubblescope {
namespace {

struct Job {
    OpKind kind = OpKind::Forward;
    std::int64_t microbatch = -1;
    std::int64_t chunk = 0;
};

/// `forward`, `backward_b`, `backward_w`, …, with the chunk behind where a rank has several.
std::optional<Job> parseType(std::string_view& text) {
    Job job;
    if (takeWord(text, "forward"))
        job.kind = OpKind::Forward;
    else if (takeWord(text, "backward_b"))
        job.kind = OpKind::BackwardInput;
    else if (takeWord(text, "backward_w"))
        job.kind = OpKind::BackwardWeight;
    else if (takeWord(text, "backward"))
        job.kind = OpKind::Backward;
    else if (takeWord(text, "optimizer"))
        job.kind = OpKind::Optimizer;
    else
        return std::nullopt;
    job.chunk = takeNumber(text).value_or(0);
    (void)takeWord(text, "_reduce"); // the last one of a chunk, which also starts the gradients' reduction
    return job;
}

/// The static graph's names: the micro-batch is in the name or, in the job log, an arg.
std::optional<Job> staticJob(std::string_view name, std::optional<std::int64_t> arg) {
    auto job = parseType(name);
    if (!job) return std::nullopt;
    if (arg && name.empty()) {
        job->microbatch = *arg;
        return job;
    }
    if (!takeWord(name, "-") && !takeWord(name, "_")) return std::nullopt;
    const auto microbatch = takeNumber(name);
    if (!microbatch || !name.empty()) return std::nullopt;
    job->microbatch = *microbatch;
    return job;
}

/// `F<micro-batch>` and `B<micro-batch>`, with `_VP<chunk>`.
std::optional<Job> dynamicJob(std::string_view name) {
    Job job;
    if (takeWord(name, "F"))
        job.kind = OpKind::Forward;
    else if (takeWord(name, "B"))
        job.kind = OpKind::Backward;
    else
        return std::nullopt;
    const auto microbatch = takeNumber(name);
    if (!microbatch) return std::nullopt;
    job.microbatch = *microbatch;
    if (takeWord(name, "_VP")) {
        const auto chunk = takeNumber(name);
        if (!chunk) return std::nullopt;
        job.chunk = *chunk;
    }
    return name.empty() ? std::optional(job) : std::nullopt;
}

std::optional<Job> jobOf(const Trace& trace, SliceId slice) {
    const std::string_view category = trace.category(slice);
    if (category == "pipeline timeline" || category == "virtual pipeline timeline")
        return dynamicJob(trace.name(slice));
    const bool job_log = category == "paddle_job";
    if (!job_log && category != "UserDefined" && category != "forward" && category != "backward" &&
        category != "optimizer")
        return std::nullopt;
    const auto arg = job_log ? trace.intArg(trace.sliceArgs()[slice], "micro_batch_id") : std::nullopt;
    return staticJob(trace.name(slice), arg);
}

/// The rank that a thread stands for: "GPU0" and tid 1 are the first.
std::int64_t homeOf(const Trace& trace, const Track& track, std::string_view category) {
    std::string_view thread = trace.text(track.thread_name);
    if (takeWord(thread, "GPU")) {
        if (const auto device = takeNumber(thread)) return *device;
    }
    if (category == "pipeline timeline" || category == "virtual pipeline timeline") return track.tid - 1;
    if (const auto rank = trace.files()[track.file].rank) return *rank;
    return track.file;
}

} // namespace

FoundOps findPaddleOps(const Trace& trace, DiagnosticLog&) {
    FoundOps found;
    struct Seen {
        SliceId slice;
        Job job;
        std::int64_t home;
    };
    std::vector<Seen> all;
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        const auto job = jobOf(trace, slice);
        if (!job) continue;
        const Track& track = trace.tracks()[trace.sliceTracks()[slice]];
        all.push_back({slice, *job, homeOf(trace, track, trace.category(slice))});
    }
    std::stable_sort(all.begin(), all.end(),
                     [&trace](const Seen& a, const Seen& b) { return trace.start(a.slice) < trace.start(b.slice); });
    std::map<std::pair<std::int64_t, std::string_view>, std::map<std::int64_t, std::int64_t>> repeats;
    for (const Seen& seen : all) {
        FoundOp op;
        op.home = seen.home;
        // A job that is seen again belongs to the next step.
        op.step = repeats[{seen.home, trace.name(seen.slice)}][seen.job.microbatch]++;
        op.kind = seen.job.kind;
        op.microbatch = std::max<std::int64_t>(0, seen.job.microbatch);
        op.part = seen.job.chunk;
        op.start = trace.start(seen.slice);
        op.end = trace.end(seen.slice);
        found.ops.push_back(op);
    }
    return found;
}

} // namespace bubblescope
