#include "core/cost/measured_times.h"

#include <algorithm>

namespace bubblescope {

std::size_t MeasuredTimes::Hash::operator()(const Key& key) const noexcept {
    std::uint64_t hash = 0;
    for (const std::int32_t part : {key.place, key.kind, key.microbatch, key.chunk, key.sequence}) {
        // Odd multiplier with well-mixed high bits; the shift brings them down to where buckets are chosen.
        hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 29U;
    }
    return static_cast<std::size_t>(hash);
}

MeasuredTimes::Key MeasuredTimes::opKey(Rank rank, const Op& op) {
    if (op.kind == OpKind::Optimizer) return {rank.value, static_cast<std::int32_t>(op.kind), 0, 0, 0};
    return {rank.value, static_cast<std::int32_t>(op.kind), op.microbatch.value, op.chunk.value, op.sequence};
}

MeasuredTimes MeasuredTimes::of(const StepTimeline& step) {
    MeasuredTimes times;
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
        for (const TimelineOp& op : step.ranks[r])
            times.setOp(Rank{r}, op.op, op.duration());
    }
    for (const auto& spans : step.comm) {
        for (const CommSpan& span : spans) {
            if (span.kind == CommKind::Receive)
                times.setTransfer(span.payload, span.microbatch, span.stage, span.sequence, span.end - span.start);
        }
    }
    return times;
}

void MeasuredTimes::setOp(Rank rank, const Op& op, TimeNs duration) {
    ops_[opKey(rank, op)] = duration;
    longest_ = std::max(longest_, duration);
}

void MeasuredTimes::setTransfer(Payload payload, Microbatch microbatch, Stage stage, std::int32_t sequence,
                                TimeNs duration) {
    transfers_[{stage.value, static_cast<std::int32_t>(payload), microbatch.value, 0, sequence}] = duration;
    longest_ = std::max(longest_, duration);
}

std::optional<TimeNs> MeasuredTimes::op(Rank rank, const Op& op) const {
    const auto found = ops_.find(opKey(rank, op));
    return found == ops_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TimeNs> MeasuredTimes::transfer(Payload payload, Microbatch microbatch, Stage stage,
                                              std::int32_t sequence) const {
    const auto found =
        transfers_.find({stage.value, static_cast<std::int32_t>(payload), microbatch.value, 0, sequence});
    return found == transfers_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace bubblescope
