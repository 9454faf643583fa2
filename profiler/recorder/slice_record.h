#pragma once

#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace bubblescope::profiler {

/// One recorded slice, small enough to copy on the hot path: an op, one side of a transfer, a check or a digest. Times
/// are nanoseconds of CLOCK_MONOTONIC, or of an emulated device clock with the same origin.
///
/// A record fills one cache line. To achieve this the categories share two values of eight bytes and one of four, with
/// an accessor for each use: lateness() and exposedComm() of ops, firstDigest() and secondDigest() of checks and
/// digests, peer() of transfers, layer() of checks and digests.
struct SliceRecord {
    enum class Category : std::uint8_t { Op, Send, Receive, Wait, Collective, Check, Digest };

    TimeNs start{0};
    TimeNs end{0};
    std::int32_t step = 0;
    Microbatch microbatch;
    Chunk chunk; ///< not of transfers
    Stage stage; ///< the stage of an op or collective; the consuming stage of a transfer
    std::int32_t sequence = 0;
    Category category = Category::Op;
    OpKind kind = OpKind::Forward;         ///< not of transfers
    Payload payload = Payload::Activation; ///< not of ops
    bool overlapped = false;               ///< of ops only
    // Of checks only, except the tensor, which digests have too.
    CheckKind check = CheckKind::Replay;
    CheckOutcome outcome = CheckOutcome::Skipped;
    Verdict verdict = Verdict::Open;
    CheckedTensor tensor = CheckedTensor::Output;

    /// Only for records of category Op, see TimelineOp.
    [[nodiscard]] TimeNs lateness() const { return TimeNs{std::bit_cast<std::int64_t>(first_value_)}; }
    [[nodiscard]] TimeNs exposedComm() const { return TimeNs{std::bit_cast<std::int64_t>(second_value_)}; }
    /// Only for records of category Check and Digest; the second only for Check.
    [[nodiscard]] std::uint64_t firstDigest() const { return first_value_; }
    [[nodiscard]] std::uint64_t secondDigest() const { return second_value_; }
    [[nodiscard]] int layer() const { return peer_or_layer_; }
    /// Only for transfers, waits and collectives.
    [[nodiscard]] Rank peer() const { return Rank{peer_or_layer_}; }

    [[nodiscard]] static SliceRecord of(const TimelineOp& op, Stage stage, int step) {
        SliceRecord record;
        record.start = op.start;
        record.end = op.end;
        record.first_value_ = bitsOf(op.lateness);
        record.second_value_ = bitsOf(op.exposed_comm);
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
        record.peer_or_layer_ = span.peer.value;
        record.category = categoryOf(span.kind);
        record.payload = span.payload;
        record.sequence = span.sequence;
        return record;
    }

    /// Leaves out the difference between tensors; `stage` is the op's.
    [[nodiscard]] static SliceRecord of(const CheckRecord& check, CheckedTensor tensor, Stage stage) {
        SliceRecord record = named(check.op, check.step, check.layer, tensor, stage);
        record.category = Category::Check;
        record.start = check.start;
        record.end = check.end;
        record.first_value_ = check.first;
        record.second_value_ = check.second;
        record.check = check.kind;
        record.outcome = check.outcome;
        record.verdict = check.verdict;
        return record;
    }

    [[nodiscard]] static SliceRecord of(const DigestRecord& digest, CheckedTensor tensor, Stage stage) {
        SliceRecord record = named(digest.op, digest.step, digest.layer, tensor, stage);
        record.category = Category::Digest;
        record.start = record.end = digest.time;
        record.first_value_ = digest.digest;
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
        out.layer = layer();
        out.tensor = tensorName(tensor);
        out.first = firstDigest();
        out.second = secondDigest();
        out.start = start;
        out.end = end;
        return out;
    }

    /// Only for records of category Digest.
    [[nodiscard]] DigestRecord asDigest() const {
        DigestRecord out;
        out.step = step;
        out.op = {kind, microbatch, chunk, sequence};
        out.layer = layer();
        out.tensor = tensorName(tensor);
        out.digest = firstDigest();
        out.time = start;
        return out;
    }

    /// Only for records of category Op.
    [[nodiscard]] TimelineOp asOp() const {
        return {{kind, microbatch, chunk, sequence, overlapped}, start, end, lateness(), TimeNs{0}, exposedComm()};
    }

    /// Only for transfers, waits and collectives.
    [[nodiscard]] CommSpan asComm() const {
        return {commKind(), payload, microbatch, stage, peer(), start, end, sequence};
    }

private:
    [[nodiscard]] static std::uint64_t bitsOf(TimeNs time) { return std::bit_cast<std::uint64_t>(time.count()); }
    [[nodiscard]] static SliceRecord named(const Op& op, int step, int layer, CheckedTensor tensor, Stage stage) {
        SliceRecord record;
        record.step = step;
        record.microbatch = op.microbatch;
        record.chunk = op.chunk;
        record.sequence = op.sequence;
        record.kind = op.kind;
        record.stage = stage;
        record.peer_or_layer_ = layer;
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

    std::int32_t peer_or_layer_ = 0;
    std::uint64_t first_value_ = 0;
    std::uint64_t second_value_ = 0;
};

static_assert(std::is_trivially_copyable_v<SliceRecord>);
static_assert(sizeof(SliceRecord) <= 64, "a record should fit a cache line");

} // namespace bubblescope::profiler
