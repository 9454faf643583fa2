#pragma once

#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace bubblescope {

// Dependencies between the ops of a step: producers of inputs, consumers of outputs, and transfers between ranks. These
// functions use only the timeline; in incomplete steps, either side may be missing.

/// Location of an op: StepTimeline::ranks[rank][index].
struct OpPlace {
    Rank rank;
    std::size_t index = 0;

    [[nodiscard]] const TimelineOp& in(const StepTimeline& step) const { return step.ranks[rank.index()][index]; }
    friend constexpr bool operator==(const OpPlace&, const OpPlace&) = default;
};

/// A micro-batch or, in schedules that split sequences, a slice of one.
struct MicrobatchSlice {
    Microbatch microbatch;
    std::int32_t sequence = 0; ///< slice of the sequence; see Op::sequence

    friend constexpr bool operator==(const MicrobatchSlice&, const MicrobatchSlice&) = default;
};

[[nodiscard]] inline MicrobatchSlice microbatchSliceOf(const Op& op) {
    return {op.microbatch, op.sequence};
}
[[nodiscard]] inline MicrobatchSlice microbatchSliceOf(const CommSpan& span) {
    return {span.microbatch, span.sequence};
}

/// The op that produced an op's input: for F, the F of the previous stage; for B and I, the B or I of the next stage
/// (on the last stage, its own forward); for W, the I of the same stage. None for forwards of the first stage, for
/// optimizers, and if that op is missing. Linear in the number of ops of one rank, as are the functions below.
[[nodiscard]] std::optional<OpPlace> producerOf(const StepTimeline& step, const OpPlace& place);
/// The op that consumes an op's output. Inverse of producerOf(), except that the output of I is consumed by the
/// previous stage, not by W.
[[nodiscard]] std::optional<OpPlace> consumerOf(const StepTimeline& step, const OpPlace& place);

/// The op whose output is transferred; `span` may be either side.
[[nodiscard]] std::optional<OpPlace> producerOf(const StepTimeline& step, const CommSpan& span);
/// The op that consumes the transferred data.
[[nodiscard]] std::optional<OpPlace> consumerOf(const StepTimeline& step, const CommSpan& span);

/// The other half of an overlapped pair; none for other ops.
[[nodiscard]] std::optional<OpPlace> otherHalfOf(const StepTimeline& step, const OpPlace& place);

/// Location and time at which a payload left or reached a rank.
struct TransferEnd {
    Rank rank;
    TimeNs time{0};
    /// True for the start of a send or the end of a receive (TransferBatches::endOf()), false for an op's end or start.
    bool recorded = false;
};

/// A payload that an op of one rank sends to an op of another rank.
struct OpTransfer {
    Payload payload = Payload::Activation;
    OpPlace producer;
    OpPlace consumer;
    TransferEnd sent;
    TransferEnd received;
};

/// All transfers between the ranks of a step, or only those of `slice`, sorted by consumer. Linear in the number of ops
/// and spans if each stage runs its micro-batches in order, otherwise O(n log n).
[[nodiscard]] std::vector<OpTransfer> transfersBetweenRanks(const StepTimeline& step,
                                                            const std::optional<MicrobatchSlice>& slice = {});

/// A transfer between two ranks whose ends are both recorded.
struct TimedTransfer {
    Rank to;            ///< the receiving rank
    TimeNs sent{0};     ///< start of the send
    TimeNs received{0}; ///< end of the receive; see TransferBatches::endOf()
};

/// Visits the transfers of transfersBetweenRanks() whose ends are both recorded, each payload once, by receiving rank
/// and span. Uses an eighth of the memory of transfersBetweenRanks(), which matters for large steps.
void eachTimedTransfer(const StepTimeline& step, const std::function<void(const TimedTransfer&)>& visit);

} // namespace bubblescope
