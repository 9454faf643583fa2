#pragma once

#include "core/base/time.h"
#include "core/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// Data that some traces contain about an op in addition to its times. All fields are 0 if there is no such data.
struct OpDetails {
    /// Delay of the op's end compared with the emulated device clock (only in paced CPU runs).
    TimeNs lateness{0};
    /// Time inside the op during which the device was idle because the host had not launched its work yet.
    TimeNs device_idle{0};
    /// Time inside the op during which its rank only waited for collectives (tensor parallelism).
    TimeNs exposed_comm{0};

    friend bool operator==(const OpDetails&, const OpDetails&) = default;
};

/// An op and the interval in which it occupied its rank's compute stream, excluding waits for inputs. Both halves of an
/// overlapped pair have the pair's times and are adjacent. Uses only 32 bytes, because a step may have millions of ops.
struct TimelineOp {
    Op op;
    std::uint32_t details = 0; ///< 1 + index into StepTimeline::details; 0 if the op has no details
    TimeNs start{0};
    TimeNs end{0};

    TimelineOp() = default;
    TimelineOp(const Op& what, TimeNs from, TimeNs to) : op(what), start(from), end(to) {}

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

enum class CommKind : std::uint8_t { Send, Receive, Wait, Collective };

/// On a rank's communication lane: one side of a transfer, a wait for a transfer, or a collective inside an op. `stage`
/// is the stage that consumes the payload: an activation of stage s feeds F of s, and a gradient of stage s feeds B or
/// I of s; transferStages() defines it where two encoders join. The send and the receive of a transfer therefore have
/// the same (payload, microbatch, sequence, stage), which is unique within a step. A collective runs among the ranks
/// that share a stage: `stage` is that stage, `peer` is the rank itself and `payload` is the reduced data. An op may
/// have several collectives.
struct CommSpan {
    CommKind kind = CommKind::Send;
    Payload payload = Payload::Activation;
    std::int16_t sequence = 0; ///< slice of the sequence; see Op::sequence
    Microbatch microbatch;
    Stage stage;
    Rank peer;
    TimeNs start{0};
    TimeNs end{0};
    /// 1 + index into Run::communicators; 0 if unknown. Transfers of a rank in one communicator run one after another.
    std::uint32_t communicator = 0;

    CommSpan() = default;
    CommSpan(CommKind what, Payload carried, Microbatch m, Stage of, Rank other, TimeNs from, TimeNs to,
             std::int64_t slice = 0)
        : kind(what), payload(carried), sequence(sequenceSlice(slice)), microbatch(m), stage(of), peer(other),
          start(from), end(to) {}
};

/// The execution of one step: which rank ran which op at which time. Produced by simulations, runs and recognised
/// traces; input of every analysis. Times are relative to the origin of the trace (in a simulation, the start of the
/// step). Immutable once it is complete.
struct StepTimeline {
    int index = 0;   ///< number of the step within its run
    int replica = 0; ///< index of the data-parallel replica of the pipeline that ran the step
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    Placement placement = Placement::Loop;
    /// Pipeline window: from the start of the first op to the last end of an F, B, I or W op on any rank. Only bubbles
    /// inside this window are counted. Optimizer ops may be after the window.
    TimeNs begin{0};
    TimeNs end{0};
    std::vector<std::vector<TimelineOp>> ranks; ///< per rank, sorted by start time; the size is pp
    std::vector<std::vector<CommSpan>> comm;    ///< per rank, sorted by start time; pp lists, some possibly empty
    std::vector<OpDetails> details;             ///< one entry per op that has details, in unspecified order

    [[nodiscard]] TimeNs wall() const { return end - begin; }
    [[nodiscard]] Stage stageOf(Rank rank, Chunk chunk) const {
        return bubblescope::stageOf(placement, pp, rank, chunk);
    }

    /// Returns zeros for an op without details. `op` must belong to this step.
    [[nodiscard]] const OpDetails& detailsOf(const TimelineOp& op) const {
        static constexpr OpDetails kNone{};
        return op.details == 0 || op.details > details.size() ? kNone : details[op.details - 1];
    }
    /// For producers; must be called at most once per op. `op` then refers to the details in this step.
    void setDetails(TimelineOp& op, const OpDetails& of_op) {
        op.details = 0;
        if (of_op == OpDetails{}) return;
        details.push_back(of_op);
        op.details = static_cast<std::uint32_t>(details.size());
    }

    /// Number of ops on all ranks. Linear in the number of ranks.
    [[nodiscard]] std::size_t opCount() const;
    /// True if the ops are present. diagnoseSteps() discards the ops of steps that it has processed: `ranks`, `comm`
    /// and `details` are then empty.
    [[nodiscard]] bool hasOps() const { return !ranks.empty(); }
    void dropOps();

    /// Sets `begin` and `end` from the ops; both become 0 if there are none.
    void fitWindow();
};

/// The order in which the ops of a timeline started, as a schedule named "custom".
[[nodiscard]] Schedule executedOrder(const StepTimeline& step);

/// Shifts the window, ops and transfers of a step so that the step starts at `begin`.
void moveTo(StepTimeline& step, TimeNs begin);

/// Interpolates between two timelines of a step: ops that exist in both timelines start and end at `fraction` of the
/// way from their times in `from` to those in `to`. 0 yields `from`, and 1 yields `to`; in between, the result has no
/// transfers and only ops that are in both. The times of both must have the same origin. The ops of a rank remain
/// sorted by start; they may overlap where the two timelines have different orders. O(n log n) in the number of ops.
[[nodiscard]] StepTimeline blend(const StepTimeline& from, const StepTimeline& to, double fraction);

} // namespace bubblescope
