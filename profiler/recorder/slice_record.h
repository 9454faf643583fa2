#pragma once

#include "core/timeline/step_timeline.h"

#include <cstdint>
#include <type_traits>

namespace bubblescope::profiler {

/// One recorded slice, small enough to copy on the hot path: an op, or one side of a transfer. Times are
/// nanoseconds of CLOCK_MONOTONIC, or of an emulated device clock with the same origin.
struct SliceRecord {
    enum class Category : std::uint8_t { Op, Send, Receive, Wait, Collective };

    TimeNs start{0};
    TimeNs end{0};
    TimeNs lateness{0};
    TimeNs exposed_comm{0}; ///< ops only, see TimelineOp
    std::int32_t step = 0;
    Microbatch microbatch;
    Chunk chunk; ///< ops only
    Stage stage; ///< an op's or a collective's own; of a transfer the one that consumes it
    Rank peer;   ///< transfers and waits only
    std::int32_t sequence = 0;
    Category category = Category::Op;
    OpKind kind = OpKind::Forward;         ///< ops only
    Payload payload = Payload::Activation; ///< all but ops
    bool overlapped = false;               ///< ops only

    [[nodiscard]] static SliceRecord of(const TimelineOp& op, Stage stage, int step) {
        SliceRecord record;
        record.start = op.start;
        record.end = op.end;
        record.lateness = op.lateness;
        record.exposed_comm = op.exposed_comm;
        record.step = step;
        record.microbatch = op.op.microbatch;
        record.chunk = op.op.chunk;
        record.stage = stage;
        record.kind = op.op.kind;
        record.sequence = op.op.sequence;
        record.overlapped = op.op.overlapped;
        return record;
    }

    [[nodiscard]] static SliceRecord of(const CommSpan& span, int step) {
        SliceRecord record;
        record.start = span.start;
        record.end = span.end;
        record.step = step;
        record.microbatch = span.microbatch;
        record.stage = span.stage;
        record.peer = span.peer;
        record.category = categoryOf(span.kind);
        record.payload = span.payload;
        record.sequence = span.sequence;
        return record;
    }

    /// Only for records of category Op.
    [[nodiscard]] TimelineOp asOp() const {
        return {{kind, microbatch, chunk, sequence, overlapped}, start, end, lateness, TimeNs{0}, exposed_comm};
    }

    /// Only for the other categories.
    [[nodiscard]] CommSpan asComm() const {
        return {commKind(), payload, microbatch, stage, peer, start, end, sequence};
    }

private:
    [[nodiscard]] static Category categoryOf(CommKind kind) {
        switch (kind) {
        case CommKind::Send: return Category::Send;
        case CommKind::Receive: return Category::Receive;
        case CommKind::Wait: return Category::Wait;
        case CommKind::Collective: return Category::Collective;
        }
        return Category::Wait;
    }
    [[nodiscard]] CommKind commKind() const {
        switch (category) {
        case Category::Send: return CommKind::Send;
        case Category::Receive: return CommKind::Receive;
        case Category::Op:
        case Category::Wait: break;
        case Category::Collective: return CommKind::Collective;
        }
        return CommKind::Wait;
    }
};

static_assert(std::is_trivially_copyable_v<SliceRecord>);
static_assert(sizeof(SliceRecord) <= 64, "a record should fit a cache line");

} // namespace bubblescope::profiler
