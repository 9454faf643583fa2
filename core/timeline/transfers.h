#pragma once

#include "core/timeline/step_timeline.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace bubblescope {

// How the ops of a step depend on one another: who made an op's input, who uses its output, and the transfers that
// carry payloads from rank to rank. Functions of the timeline alone; damaged steps may lack either side.

/// The place of an op: StepTimeline::ranks[rank][index].
struct OpPlace {
    Rank rank;
    std::size_t index = 0;

    [[nodiscard]] const TimelineOp& in(const StepTimeline& step) const { return step.ranks[rank.index()][index]; }
    friend constexpr bool operator==(const OpPlace&, const OpPlace&) = default;
};

/// One micro-batch, or one slice of it in schedules that split sequences.
struct MicrobatchSlice {
    Microbatch microbatch;
    std::int32_t sequence = 0; ///< see Op

    friend constexpr bool operator==(const MicrobatchSlice&, const MicrobatchSlice&) = default;
};

[[nodiscard]] inline MicrobatchSlice microbatchSliceOf(const Op& op) {
    return {op.microbatch, op.sequence};
}
[[nodiscard]] inline MicrobatchSlice microbatchSliceOf(const CommSpan& span) {
    return {span.microbatch, span.sequence};
}

/// The op that made the input of an op: F of the stage before for F, B or I of the stage after for B and I (the forward
/// of the same stage at the pipeline's end), I of the same stage for W. None for the first stage's forwards, for
/// optimizers, and where the step does not hold it. Linear in the ops of one rank, as are the functions below.
[[nodiscard]] std::optional<OpPlace> producerOf(const StepTimeline& step, const OpPlace& place);
/// The op that uses the output of an op: the inverse, but that the output of I goes to the stage before and not to W.
[[nodiscard]] std::optional<OpPlace> consumerOf(const StepTimeline& step, const OpPlace& place);

/// The op whose output a transfer carries, whichever side the span is of.
[[nodiscard]] std::optional<OpPlace> producerOf(const StepTimeline& step, const CommSpan& span);
/// The op to whose stage a transfer brings its input.
[[nodiscard]] std::optional<OpPlace> consumerOf(const StepTimeline& step, const CommSpan& span);

/// The other half of an overlapped pair; none for ops that ran alone.
[[nodiscard]] std::optional<OpPlace> otherHalfOf(const StepTimeline& step, const OpPlace& place);

/// Where and when a payload left a rank or reached one.
struct TransferEnd {
    Rank rank;
    TimeNs time{0};
    /// The begin of a send or the end of a receive (TransferBatches::endOf()); else the op's own end or start.
    bool recorded = false;
};

/// A payload that went from an op of one rank to an op of another.
struct OpTransfer {
    Payload payload = Payload::Activation;
    OpPlace producer;
    OpPlace consumer;
    TransferEnd sent;
    TransferEnd received;
};

/// All transfers between the ranks of a step, or those of one slice, by consumer. Linear in ops and spans where a
/// stage's come in the order of their micro-batches, else O(n log n).
[[nodiscard]] std::vector<OpTransfer> transfersBetweenRanks(const StepTimeline& step,
                                                            const std::optional<MicrobatchSlice>& slice = {});

/// A payload under way between two ranks, of which both ends are recorded.
struct TimedTransfer {
    Rank to;            ///< whose receive it is
    TimeNs sent{0};     ///< the begin of the send
    TimeNs received{0}; ///< the end of the receive, see TransferBatches::endOf()
};

/// Visits those of transfersBetweenRanks() of which both ends are recorded, each payload once, by the rank that
/// received it and its spans. For all of a large step: takes an eighth of the memory.
void eachTimedTransfer(const StepTimeline& step, const std::function<void(const TimedTransfer&)>& visit);

} // namespace bubblescope
