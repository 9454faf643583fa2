#pragma once

#include "core/base/time.h"
#include "core/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bubblescope {

/// Data that some traces record about an op besides its times. All fields are 0 if the trace has no such data.
struct OpDetails {
    /// Delay of the op's end relative to the emulated device clock (paced CPU runs).
    TimeNs lateness{0};
    /// Time within the op in which the device was idle because the host had not launched its work yet.
    TimeNs device_idle{0};
    /// Time within the op in which its rank only waited for collectives (tensor parallelism).
    TimeNs exposed_comm{0};

    friend bool operator==(const OpDetails&, const OpDetails&) = default;
};

/// An op and the interval in which it occupied its rank's compute stream, without waiting for inputs. Both halves of an
/// overlapped pair have the pair's times and are adjacent. 32 bytes, because a step may have millions.
struct TimelineOp {
    Op op;
    std::uint32_t details = 0; ///< 1 + index into StepTimeline::details; 0 if it has none
    TimeNs start{0};
    TimeNs end{0};

    TimelineOp() = default;
    TimelineOp(const Op& what, TimeNs from, TimeNs to) : op(what), start(from), end(to) {}

    [[nodiscard]] TimeNs duration() const { return end - start; }
};

enum class CommKind : std::uint8_t { Send, Receive, Wait, Collective };

/// One side of a transfer, a wait for one, or a collective inside an op, on a rank's communication lane. `stage` is the
/// stage that consumes the payload: an activation of stage s feeds F of s, a gradient of stage s feeds B or I of s. The
/// send and the receive of one transfer therefore have equal (payload, microbatch, sequence, stage), unique within a
/// step. A collective runs among the ranks that share a stage: `stage` is that stage, `peer` is the rank itself and
/// `payload` is the data that is reduced. An op may have several collectives.
struct CommSpan {
    CommKind kind = CommKind::Send;
    Payload payload = Payload::Activation;
    std::int16_t sequence = 0; ///< slice of the sequence, see Op
    Microbatch microbatch;
    Stage stage;
    Rank peer;
    TimeNs start{0};
    TimeNs end{0};

    CommSpan() = default;
    CommSpan(CommKind what, Payload carried, Microbatch m, Stage of, Rank other, TimeNs from, TimeNs to,
             std::int64_t slice = 0)
        : kind(what), payload(carried), sequence(sequenceSlice(slice)), microbatch(m), stage(of), peer(other),
          start(from), end(to) {}
};

/// The execution of one step: which rank ran which op when. Simulations, runs and recognised traces all produce it, and
/// every analysis takes it as input. Times count from the origin of the trace (in a simulation: the start of the step).
/// Immutable once its producer has built it.
struct StepTimeline {
    int index = 0;   ///< number of the step in its run
    int replica = 0; ///< which of several equal pipelines ran it (data parallelism)
    int pp = 1;
    int microbatches = 1;
    int vpp = 1;
    Placement placement = Placement::Loop;
    /// The pipeline window: from the first op's start to the last end of an F, B, I or W op on any rank. Bubbles are
    /// counted in this window. Optimizer ops may lie after it.
    TimeNs begin{0};
    TimeNs end{0};
    std::vector<std::vector<TimelineOp>> ranks; ///< per rank, by start time; size pp
    std::vector<std::vector<CommSpan>> comm;    ///< per rank, by start time; size pp; the inner lists may be empty
    std::vector<OpDetails> details;             ///< one entry per op that has any, in unspecified order

    [[nodiscard]] TimeNs wall() const { return end - begin; }
    [[nodiscard]] Stage stageOf(Rank rank, Chunk chunk) const {
        return bubblescope::stageOf(placement, pp, rank, chunk);
    }

    /// All fields are 0 for an op without details. `op` must belong to this step.
    [[nodiscard]] const OpDetails& detailsOf(const TimelineOp& op) const {
        static constexpr OpDetails kNone{};
        return op.details == 0 || op.details > details.size() ? kNone : details[op.details - 1];
    }
    /// For producers; call it once per op. `op` then refers to this step's details.
    void setDetails(TimelineOp& op, const OpDetails& of_op) {
        op.details = 0;
        if (of_op == OpDetails{}) return;
        details.push_back(of_op);
        op.details = static_cast<std::uint32_t>(details.size());
    }

    /// Number of ops on all ranks. Linear in ranks.
    [[nodiscard]] std::size_t opCount() const;
    /// True if the ops are present. Steps that diagnoseSteps() judged window by window have dropped theirs: `ranks`,
    /// `comm` and `details` are then empty.
    [[nodiscard]] bool hasOps() const { return !ranks.empty(); }
    void dropOps();

    /// Sets `begin` and `end` from the ops; both are 0 without ops.
    void fitWindow();
};

/// The order in which the timeline's ops started, as a schedule named "custom".
[[nodiscard]] Schedule executedOrder(const StepTimeline& step);

/// Shifts window, ops and transfers of a step so that it begins at `begin`.
void moveTo(StepTimeline& step, TimeNs begin);

/// Interpolates between two timelines of a step: each op that is in both begins and ends at `fraction` of the way from
/// its times in `from` to its times in `to`. 0 gives `from` and 1 gives `to`; in between, the result has no transfers
/// and only ops that are in both. Both must count time from the same origin. The ops of a rank stay sorted by start;
/// they may overlap where the two timelines order them differently. O(n log n) in the ops.
[[nodiscard]] StepTimeline blend(const StepTimeline& from, const StepTimeline& to, double fraction);

} // namespace bubblescope
