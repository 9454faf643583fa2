#pragma once

#include "core/timeline/check_record.h"
#include "core/timeline/checked_tensor.h"
#include "core/timeline/step_timeline.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace bubblescope::profiler {

/// One recorded slice, small enough to copy on the hot path: an op, one side of a transfer, a check or a digest. Times
/// are nanoseconds of CLOCK_MONOTONIC, or of an emulated device clock with the same origin.
struct SliceRecord {
    enum class Category : std::uint8_t { Op, Send, Receive, Wait, Collective, Check, Digest };

    TimeNs start{0};
    TimeNs end{0};
    TimeNs lateness{0};     ///< of checks the bits of the first digest, of digests those of the digest
    TimeNs exposed_comm{0}; ///< of ops, see TimelineOp; of checks the bits of the second digest
    std::int32_t step = 0;
    Microbatch microbatch;
    Chunk chunk; ///< not of transfers
    Stage stage; ///< an op's or a collective's own; of a transfer the one that consumes it
    Rank peer;   ///< of transfers and waits; of checks and digests the layer
    std::int32_t sequence = 0;
    Category category = Category::Op;
    OpKind kind = OpKind::Forward;         ///< not of transfers
    Payload payload = Payload::Activation; ///< all but ops
    bool overlapped = false;               ///< ops only
    // Checks only, but for the tensor, which digests have too.
    CheckKind check = CheckKind::Replay;
    CheckOutcome outcome = CheckOutcome::Skipped;
    Verdict verdict = Verdict::Open;
    CheckedTensor tensor = CheckedTensor::Output;

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

    /// Without the difference that it may tell of; `stage` is the op's.
    [[nodiscard]] static SliceRecord of(const CheckRecord& check, CheckedTensor tensor, Stage stage) {
        SliceRecord record = named(check.op, check.step, check.layer, tensor, stage);
        record.category = Category::Check;
        record.start = check.start;
        record.end = check.end;
        record.lateness = TimeNs{std::bit_cast<std::int64_t>(check.first)};
        record.exposed_comm = TimeNs{std::bit_cast<std::int64_t>(check.second)};
        record.check = check.kind;
        record.outcome = check.outcome;
        record.verdict = check.verdict;
        return record;
    }

    [[nodiscard]] static SliceRecord of(const DigestRecord& digest, CheckedTensor tensor, Stage stage) {
        SliceRecord record = named(digest.op, digest.step, digest.layer, tensor, stage);
        record.category = Category::Digest;
        record.start = record.end = digest.time;
        record.lateness = TimeNs{std::bit_cast<std::int64_t>(digest.digest)};
        return record;
    }

    /// Only for records of category Check. The rank is that of the file.
    [[nodiscard]] CheckRecord asCheck() const {
        CheckRecord out;
        out.kind = check;
        out.outcome = outcome;
        out.verdict = verdict;
        out.step = step;
        out.op = {kind, microbatch, chunk, sequence};
        out.layer = peer.value;
        out.tensor = tensorName(tensor);
        out.first = std::bit_cast<std::uint64_t>(lateness.count());
        out.second = std::bit_cast<std::uint64_t>(exposed_comm.count());
        out.start = start;
        out.end = end;
        return out;
    }

    /// Only for records of category Digest.
    [[nodiscard]] DigestRecord asDigest() const {
        DigestRecord out;
        out.step = step;
        out.op = {kind, microbatch, chunk, sequence};
        out.layer = peer.value;
        out.tensor = tensorName(tensor);
        out.digest = std::bit_cast<std::uint64_t>(lateness.count());
        out.time = start;
        return out;
    }

    /// Only for records of category Op.
    [[nodiscard]] TimelineOp asOp() const {
        return {{kind, microbatch, chunk, sequence, overlapped}, start, end, lateness, TimeNs{0}, exposed_comm};
    }

    /// Only for transfers, waits and collectives.
    [[nodiscard]] CommSpan asComm() const {
        return {commKind(), payload, microbatch, stage, peer, start, end, sequence};
    }

private:
    [[nodiscard]] static SliceRecord named(const Op& op, int step, int layer, CheckedTensor tensor, Stage stage) {
        SliceRecord record;
        record.step = step;
        record.microbatch = op.microbatch;
        record.chunk = op.chunk;
        record.sequence = op.sequence;
        record.kind = op.kind;
        record.stage = stage;
        record.peer = Rank{layer};
        record.tensor = tensor;
        return record;
    }
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
        case Category::Check:
        case Category::Digest:
        case Category::Wait: break;
        case Category::Collective: return CommKind::Collective;
        }
        return CommKind::Wait;
    }
};

static_assert(std::is_trivially_copyable_v<SliceRecord>);
static_assert(sizeof(SliceRecord) <= 64, "a record should fit a cache line");

} // namespace bubblescope::profiler
