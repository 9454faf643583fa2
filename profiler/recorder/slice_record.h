#pragma once

#include "core/timeline/checks.h"
#include "core/timeline/step_timeline.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bubblescope::profiler {

/// One recorded slice, small enough to copy on the hot path: an op, one side of a transfer, a check or a digest. Times
/// are nanoseconds of CLOCK_MONOTONIC, or of an emulated device clock with the same origin.
///
/// A record fits in one cache line. To save space, all categories use the same two eight-byte values and one four-byte
/// value. Each use has an accessor: lateness() and exposedComm() for ops, firstDigest() and secondDigest() for checks
/// and digests, peer() for transfers, layer() for checks and digests.
///
/// In a ring, a record is stored as eight 64-bit words; see word() and fromWords(). The words are built with shifts
/// instead of byte copies, so that the compiler keeps the fields of a new record in registers. Loading bytes with a
/// different access size than they were stored with would stall the processor for as long as writing a record takes.
struct SliceRecord {
    enum class Category : std::uint8_t { Op, Send, Receive, Wait, Collective, Check, Digest };
    static constexpr std::size_t kWords = 8;

    TimeNs start{0};
    TimeNs end{0};
    std::int32_t step = 0;
    Microbatch microbatch;
    Chunk chunk; ///< not used for transfers
    Stage stage; ///< the stage of an op or collective; the consuming stage of a transfer
    std::int32_t sequence = 0;
    Category category = Category::Op;
    OpKind kind = OpKind::Forward;         ///< not used for transfers
    Payload payload = Payload::Activation; ///< not used for ops
    bool overlapped = false;               ///< only for ops
    // Only for checks; `tensor` also for digests.
    CheckKind check = CheckKind::Replay;
    CheckOutcome outcome = CheckOutcome::Skipped;
    Verdict verdict = Verdict::Open;
    CheckedTensor tensor = CheckedTensor::Output;

    /// Only for records of category Op; see OpDetails.
    [[nodiscard]] TimeNs lateness() const { return TimeNs{std::bit_cast<std::int64_t>(first_value_)}; }
    [[nodiscard]] TimeNs exposedComm() const { return TimeNs{std::bit_cast<std::int64_t>(second_value_)}; }
    /// Only for records of category Check or Digest; secondDigest() only for Check.
    [[nodiscard]] std::uint64_t firstDigest() const { return first_value_; }
    [[nodiscard]] std::uint64_t secondDigest() const { return second_value_; }
    [[nodiscard]] int layer() const { return peer_or_layer_; }
    /// Only for transfers, waits and collectives.
    [[nodiscard]] Rank peer() const { return Rank{peer_or_layer_}; }

    /// `index` must be below kWords.
    [[nodiscard]] std::uint64_t word(std::size_t index) const {
        switch (index) {
        case 0: return bitsOf(start);
        case 1: return bitsOf(end);
        case 2: return first_value_;
        case 3: return second_value_;
        case 4: return pair(step, microbatch.value);
        case 5: return pair(chunk.value, stage.value);
        case 6: return pair(sequence, peer_or_layer_);
        default: return packed(category, kind, payload, overlapped, check, outcome, verdict, tensor);
        }
    }

    [[nodiscard]] static SliceRecord fromWords(std::span<const std::uint64_t, kWords> words) {
        SliceRecord record;
        record.start = TimeNs{std::bit_cast<std::int64_t>(words[0])};
        record.end = TimeNs{std::bit_cast<std::int64_t>(words[1])};
        record.first_value_ = words[2];
        record.second_value_ = words[3];
        record.step = half(words[4], 0);
        record.microbatch = Microbatch{half(words[4], 1)};
        record.chunk = Chunk{half(words[5], 0)};
        record.stage = Stage{half(words[5], 1)};
        record.sequence = half(words[6], 0);
        record.peer_or_layer_ = half(words[6], 1);
        unpack(words[7], record.category, record.kind, record.payload, record.overlapped, record.check, record.outcome,
               record.verdict, record.tensor);
        return record;
    }

    [[nodiscard]] static SliceRecord of(const TimelineOp& op, Stage stage, int step, const OpDetails& details = {}) {
        SliceRecord record;
        record.start = op.start;
        record.end = op.end;
        record.first_value_ = bitsOf(details.lateness);
        record.second_value_ = bitsOf(details.exposed_comm);
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

    /// Does not store the difference between tensors; `stage` must be the stage of the op.
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

    /// Only for records of category Check. The record does not contain the rank, which is the file's rank.
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
    [[nodiscard]] TimelineOp asOp() const { return {{kind, microbatch, chunk, sequence, overlapped}, start, end}; }
    [[nodiscard]] OpDetails opDetails() const { return {lateness(), TimeNs{0}, exposedComm()}; }

    /// Only for transfers, waits and collectives.
    [[nodiscard]] CommSpan asComm() const {
        return {commKind(), payload, microbatch, stage, peer(), start, end, sequence};
    }

private:
    [[nodiscard]] static std::uint64_t bitsOf(TimeNs time) { return std::bit_cast<std::uint64_t>(time.count()); }
    /// Packs two four-byte values into a word; half() unpacks one of them.
    [[nodiscard]] static std::uint64_t pair(std::int32_t low, std::int32_t high) {
        return std::uint64_t{std::bit_cast<std::uint32_t>(high)} << 32U | std::bit_cast<std::uint32_t>(low);
    }
    [[nodiscard]] static std::int32_t half(std::uint64_t word, unsigned which) {
        return std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(word >> (which * 32U)));
    }
    /// Packs one-byte values into a word, the first in the lowest byte.
    template <class... Bytes>
    [[nodiscard]] static std::uint64_t packed(Bytes... bytes) {
        static_assert(sizeof...(Bytes) == 8 && ((sizeof(Bytes) == 1) && ...));
        std::uint64_t word = 0;
        unsigned at = 0;
        ((word |= std::uint64_t{static_cast<std::uint8_t>(bytes)} << at, at += 8), ...);
        return word;
    }
    template <class... Bytes>
    static void unpack(std::uint64_t word, Bytes&... bytes) {
        unsigned at = 0;
        ((bytes = static_cast<Bytes>(static_cast<std::uint8_t>(word >> at)), at += 8), ...);
    }
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

static_assert(sizeof(SliceRecord) == SliceRecord::kWords * sizeof(std::uint64_t),
              "kWords does not match the size of SliceRecord");

} // namespace bubblescope::profiler
