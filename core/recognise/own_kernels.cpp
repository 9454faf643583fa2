#include "core/recognise/own_kernels.h"

#include "core/timeline/trace_names.h"

#include <algorithm>
#include <string_view>

namespace bubblescope {
namespace {

/// "F3.1", or "F3.1+B2.0" for a pair; leaves out names that are not ops.
std::vector<Op> opsNamed(std::string_view text) {
    std::vector<Op> ops;
    while (!text.empty()) {
        const std::size_t plus = std::min(text.find('+'), text.size());
        if (const auto op = parseOpName(text.substr(0, plus))) ops.push_back(*op);
        text.remove_prefix(std::min(plus + 1, text.size()));
    }
    return ops;
}

} // namespace

OwnKernels::OwnKernels(const Trace& trace)
    : trace_(trace), collective_(trace.strings().find(trace_names::kCollective)) {
    if (trace.strings().find(trace_names::kOp) == 0) return; // other programs' kernels, whose args need not be read
    for (const std::string_view category : {"kernel", "gpu_memcpy", "gpu_memset"}) {
        if (const StringId id = trace.strings().find(category); id != 0) device_.push_back(id);
    }
}

bool OwnKernels::addTrack(const Track& track, const RecordOwner& owner, const JobControl& control) {
    if (device_.empty()) return true;
    StopCheck stop(control, 1U << 12);
    const RankKey rank{track.file, owner.rank, owner.replica};
    for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
        if (stop.requested()) return false;
        const StringId category = trace_.sliceCategories()[slice];
        const TimeInterval time{trace_.start(slice), trace_.end(slice)};
        if (category == collective_ && collective_ != 0) {
            collectives_[rank].push_back(time);
            continue;
        }
        if (std::ranges::find(device_, category) == device_.end()) continue;
        const ArgSetId args = trace_.sliceArgs()[slice];
        const auto name = trace_.textArg(args, trace_names::kOfOp);
        const auto step = trace_.intArg(args, "step");
        if (!name || !step) continue;
        for (const Op& op : opsNamed(*name))
            work_[{rank, {*step, op.kind, op.microbatch.value, op.chunk.value, op.sequence}}].push_back(time);
    }
    return true;
}

std::optional<EventGap> OwnKernels::apply(std::uint32_t file, const RecordOwner& owner, FoundOp& op) const {
    const RankKey rank{file, owner.rank, owner.replica};
    const auto found = work_.find({rank, {op.step, op.kind, op.microbatch, op.chunk_or_stage, op.sequence}});
    if (found == work_.end()) return std::nullopt;
    std::vector<TimeInterval> busy = unionOf(found->second);
    const TimeInterval whole{busy.front().start, busy.back().end};
    if (const auto waits = collectives_.find(rank); waits != collectives_.end()) {
        for (const TimeInterval& wait : waits->second) {
            const TimeInterval part{std::max(wait.start, whole.start), std::min(wait.end, whole.end)};
            if (part.start < part.end) busy.push_back(part);
        }
        busy = unionOf(std::move(busy));
    }
    TimeNs ran{0};
    for (const TimeInterval& each : busy)
        ran += each.duration();
    const EventGap gap{whole.start - op.start, op.end - whole.end};
    op.start = whole.start;
    op.end = whole.end;
    op.details.device_idle = whole.duration() - ran;
    op.details.exposed_comm = std::min(op.details.exposed_comm, ran);
    return gap;
}

} // namespace bubblescope
