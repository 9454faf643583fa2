#pragma once

#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace bubblescope {

// The dependencies between the ops of a step: which op produced an input, which op consumes an output, and the
// transfers between ranks. These functions only use the timeline; in damaged steps either side may be missing.

/// The place of an op: StepTimeline::ranks[rank][index].
struct OpPlace {
    Rank rank;
    std::size_t index = 0;

    [[nodiscard]] const TimelineOp& in(const StepTimeline& step) const { return step.ranks[rank.index()][index]; }
    friend constexpr bool operator==(const OpPlace&, const OpPlace&) = default;
};

/// A micro-batch, or a slice of one in schedules that split sequences.
struct MicrobatchSlice {
    Microbatch microbatch;
    std::int32_t sequence = 0; ///< slice of the sequence, see Op

    friend constexpr bool operator==(const MicrobatchSlice&, const MicrobatchSlice&) = default;
};

[[nodiscard]] inline MicrobatchSlice microbatchSliceOf(const Op& op) {
    return {op.microbatch, op.sequence};
}
[[nodiscard]] inline MicrobatchSlice microbatchSliceOf(const CommSpan& span) {
    return {span.microbatch, span.sequence};
}

/// The op that produced an op's input: F of the previous stage for F; B or I of the next stage for B and I (on the last
/// stage, its own forward); I of the same stage for W. None for the first stage's forwards, for optimizers, and if the
/// step does not have that op. Linear in the ops of one rank, as are the functions below.
[[nodiscard]] std::optional<OpPlace> producerOf(const StepTimeline& step, const OpPlace& place);
/// The op that consumes an op's output. Inverse of producerOf(), except that the output of I goes to the previous
/// stage, not to W.
[[nodiscard]] std::optional<OpPlace> consumerOf(const StepTimeline& step, const OpPlace& place);

/// The op whose output a transfer carries; `span` may be either side.
[[nodiscard]] std::optional<OpPlace> producerOf(const StepTimeline& step, const CommSpan& span);
/// The op that consumes what a transfer carries.
[[nodiscard]] std::optional<OpPlace> consumerOf(const StepTimeline& step, const CommSpan& span);

/// The other half of an overlapped pair; none for other ops.
[[nodiscard]] std::optional<OpPlace> otherHalfOf(const StepTimeline& step, const OpPlace& place);

/// The place and time at which a payload left or reached a rank.
struct TransferEnd {
    Rank rank;
    TimeNs time{0};
    /// True: the start of a send or the end of a receive (TransferBatches::endOf()). False: the op's own end or start.
    bool recorded = false;
};

/// A payload from an op of one rank to an op of another.
struct OpTransfer {
    Payload payload = Payload::Activation;
    OpPlace producer;
    OpPlace consumer;
    TransferEnd sent;
    TransferEnd received;
};

/// All transfers between the ranks of a step, or only those of `slice`, by consumer. Linear in ops and spans if each
/// stage runs its micro-batches in order, otherwise O(n log n).
[[nodiscard]] std::vector<OpTransfer> transfersBetweenRanks(const StepTimeline& step,
                                                            const std::optional<MicrobatchSlice>& slice = {});

/// A transfer between two ranks with both ends recorded.
struct TimedTransfer {
    Rank to;            ///< the receiving rank
    TimeNs sent{0};     ///< start of the send
    TimeNs received{0}; ///< the end of the receive, see TransferBatches::endOf()
};

/// Visits the transfers of transfersBetweenRanks() with both ends recorded, each payload once, by receiving rank and
/// span. Uses an eighth of the memory of transfersBetweenRanks(); meant for all transfers of a large step.
void eachTimedTransfer(const StepTimeline& step, const std::function<void(const TimedTransfer&)>& visit);

} // namespace bubblescope
