#pragma once

#include "core/base/large_list.h"
#include "core/graph/longest_path.h"
#include "core/graph/step_units.h"
#include "core/schedule/dependency.h"
#include "core/timeline/step_timeline.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

class TransferBatches;

/// True if an overlapped pair begins at this op of a rank's list; the op must not be the second half of a pair. Halves
/// separated by idle time are not a pair.
[[nodiscard]] inline bool beginsPair(std::span<const TimelineOp> ops, std::size_t index) {
    return ops[index].op.overlapped && index + 1 < ops.size() && ops[index + 1].op.overlapped &&
           ops[index + 1].start <= ops[index].end;
}

/// The op fed by the transfer in `span`; negative if the step, whose graph is `ops`, does not contain the op.
[[nodiscard]] inline OpIndex fedBy(const CommSpan& span, const StepTimeline& step, const OpGraph& ops) {
    const int stages = step.pp * step.vpp;
    const int stage = transferStages(step.placement, stages, span.payload, span.stage.value).consumer;
    const bool known = span.microbatch.value >= 0 && span.microbatch.value < step.microbatches && stage >= 0 &&
                       stage < stages && span.sequence >= 0 && span.sequence < ops.sequenceSlices();
    if (!known) return kMissingOp;
    const OpKind fed = span.payload == Payload::Activation ? OpKind::Forward : OpKind::Backward;
    return ops.find(fed, span.microbatch, Stage{stage}, span.sequence);
}

/// True if the transfer in `span` brings an output of the first of two encoders to the trunk.
[[nodiscard]] inline bool isJoined(const CommSpan& span, const StepTimeline& step) {
    return joins(step.placement) && span.stage.value == step.pp * step.vpp;
}

/// An optimizer op after a rank's last unit. No other op waits for it, so it only fills a bubble.
struct TrailingOp {
    TimeNs after{0}; ///< start of the op, relative to the end of the rank's last unit
    TimeNs duration{0};
};

/// The predecessor that a unit waited for last: the previous unit on its rank, or its first or second input. In a tie,
/// the previous unit.
enum class Latest : std::int8_t { Begin = -2, Previous = -1, FirstInput = 0, SecondInput = 1 };

/// A rank's waits between two consecutive units, other than the wait for the second unit's input. The wait is stored
/// with the second unit.
struct Hold {
    /// The unit fed by the previous unit's output: the rank does not continue until that transfer has ended. kNoUnit if
    /// the rank does not wait for its send.
    UnitIndex sends_to = kNoUnit;
    /// True if that send and the unit's input were posted as a batch, so that neither transfer started before both
    /// ranks had posted it.
    bool batch = false;
    /// True if the rank posted its receive after the previous unit, so that the transfer did not start earlier.
    bool receives = false;
};

/// Identifies a transfer by the unit that it feeds and the input's number.
struct TransferPlace {
    std::size_t side = 0;
    std::size_t unit = 0;
};

/// A time per unit for its first and its second input; the second list is empty if no unit has two inputs.
using InputTimes = std::array<ListToFill<TimeNs>, 2>;

/// An observed step as a graph of units. Times are relative to the start of the step.
///
/// A unit starts at max(end of previous unit on its rank, end of input + transfer) + delay. If ranks wait for their
/// sends, as in batches of sends and receives, those transfers also delay the unit: see lagOf(). The observed
/// durations, transfers and delays reproduce the observed step (step_replay.h). The `delay` is negative if a unit
/// started before its recorded input arrived.
///
/// Works for any timeline. If ops of a rank overlap but are not a pair, the later one is cut. Ops are clipped to the
/// step's window, so that the units of a rank add up to its busy time. An input is ignored if its producer is not in
/// the timeline or the order contradicts it. Linear in ops and transfers.
class StepGraph {
private:
    std::shared_ptr<const StepUnits> units_; ///< may be shared with other steps with this order

public:
    // One entry per unit, taken from StepUnits.
    std::span<const std::int32_t> rank;
    std::span<const std::int32_t> op; ///< index of the unit's (first) op in StepTimeline::ranks
    std::span<const OpKind> kind;
    std::span<const Chunk> chunk;
    std::span<const std::uint8_t> pair;
    std::array<std::span<const Way>, 2> way;
    // One entry per unit, specific to this step.
    InputTimes transfer; ///< transfer time of the input; 0 within a rank
    InputTimes sent;     ///< recorded start of the transfer; if not recorded, the end of the producer
    ListToFill<TimeNs> start;
    ListToFill<TimeNs> end;
    ListToFill<TimeNs> delay;
    ListToFill<Latest> latest; ///< computed from the observed ends and transfers
    /// Set only if the records contain batches (TransferBatches) and no unit has two inputs.
    std::vector<Hold> holds;
    // As in TimelineOp; for a pair, the smaller value of its two ops. Empty if all are 0.
    std::vector<TimeNs> device_idle;
    std::vector<TimeNs> exposed_comm;

    std::span<const UnitIndex> last;               ///< per rank; kNoUnit for a rank without units
    std::vector<std::vector<TrailingOp>> trailing; ///< per rank, by start
    TimeNs wall{0};
    std::int64_t recorded_transfers = 0;  ///< number of transfers between ranks with a recorded send or receive
    std::int64_t estimated_transfers = 0; ///< number of transfers between ranks without a recorded send or receive;
                                          ///< they get the shortest lag observed between these ranks
    std::int64_t ignored_inputs = 0;

    /// `ran` must contain the units of the step; if null, the constructor computes them.
    explicit StepGraph(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {});

    /// Switches to another step. Returns true if that step ran the same ops in the same order. Units, inputs and ways,
    /// which depend only on the order, are then reused. Equal orders are common and save half of the work.
    bool assign(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {});

    [[nodiscard]] UnitIndex size() const { return static_cast<UnitIndex>(rank.size()); }
    /// True if there are pairs, whose ops have an input each, or ops that join the outputs of two encoders.
    [[nodiscard]] bool hasSecondInputs() const { return !way[1].empty(); }
    [[nodiscard]] std::size_t sides() const { return hasSecondInputs() ? 2 : 1; }
    /// The predecessors of each unit: in slot 0 the previous unit on its rank, then its inputs, one slot per input.
    [[nodiscard]] const TaskGraph& tasks() const { return units_->tasks; }
    /// The same graph, with shared ownership.
    [[nodiscard]] std::shared_ptr<const TaskGraph> sharedTasks() const { return {units_, &units_->tasks}; }
    /// The previous unit on its rank; kNoUnit for the first.
    [[nodiscard]] UnitIndex previous(std::size_t unit) const { return tasks().predecessors(unit)[0]; }
    /// kNoUnit if there is none.
    [[nodiscard]] UnitIndex input(std::size_t side, std::size_t unit) const {
        return tasks().predecessors(unit)[1 + side];
    }
    /// True if another rank produces the input.
    [[nodiscard]] bool crosses(std::size_t side, std::size_t unit) const { return way[side][unit] >= Way::Activation; }
    /// The last transfer to arrive before a unit. Call this function only if Binding::crosses is true.
    [[nodiscard]] TransferPlace latestTransfer(std::size_t unit) const {
        if (!holds.empty()) return latestOfHeld(unit);
        return {latest[unit] == Latest::SecondInput ? 1U : 0U, unit};
    }
    [[nodiscard]] TimeNs duration(UnitIndex unit) const { return end[at(unit)] - start[at(unit)]; }
    static std::size_t at(UnitIndex unit) { return static_cast<std::size_t>(unit); }

    /// An order in which units can run if each rank follows `plan`. None if the plan's ops differ from the
    /// step's (optimizer ops excepted) or if the plan cannot be executed.
    [[nodiscard]] std::optional<std::vector<UnitIndex>> orderBy(const Schedule& plan) const;

    /// All ops except trailing ones.
    [[nodiscard]] const OpGraph& ops() const { return *units_->ops; }
    [[nodiscard]] UnitIndex unitOf(OpIndex index) const { return units_->unit_of[at(index)]; }
    /// The units of the ops in a rank's list, except trailing ops; a pair's unit appears twice.
    [[nodiscard]] std::span<const UnitIndex> unitsOf(Rank of) const { return units_->unitsOf(of); }

private:
    [[nodiscard]] bool fits(const StepTimeline& step, const ExecutedUnits& ran) const;
    [[nodiscard]] bool hasOrderOf(const StepTimeline& step) const;
    void findUnits(const StepTimeline& step);
    void takeUnits();
    void readStep(const StepTimeline& step);
    void readTimes(const StepTimeline& step);
    void readTrailing(const StepTimeline& step, std::size_t r);
    void readTransfers(const StepTimeline& step);
    void readRecords(const StepTimeline& step);
    void readHolds(const TransferBatches& batches, const StepTimeline& step);
    void trimHolds();
    [[nodiscard]] TransferPlace latestOfHeld(std::size_t unit) const;
    [[nodiscard]] Hold holdOf(std::size_t unit) const;
    /// The op that an input feeds; the side of a single op that joins two outputs is 0 or 1.
    [[nodiscard]] OpIndex consumerOf(std::size_t side, std::size_t unit) const {
        return ops().firstOf(Rank{rank[unit]}) + op[unit] + (side <= pair[unit] ? static_cast<OpIndex>(side) : 0);
    }
    /// The index of a transfer's record: that of the op that it feeds, plus the number of ops for an output of the
    /// first of two encoders.
    [[nodiscard]] std::size_t recordOf(OpIndex consumer, bool joined) const {
        return at(consumer) + (joined ? at(ops().size()) : 0);
    }
    void estimateTransfers(const StepTimeline& step);
    void findDelays();

    /// A transfer as recorded by one side.
    struct Record {
        TimeNs begin; ///< min() = not recorded
        TimeNs end;

        void add(const CommSpan& span, TimeNs origin) {
            begin = std::max(begin, span.start - origin);
            end = std::max(end, span.end - origin);
        }
    };

    int microbatches_;
    int vpp_;
    Placement placement_;
    std::shared_ptr<const ExecutedUnits> ran_;          ///< owns these units; null if the step has its own
    bool ordered_by_start_ = false;                     ///< true if the units are ordered by start time
    ListToFill<Record> sends_;                          ///< by recordOf(), of the latest step; empty for large steps
    ListToFill<Record> receives_;                       ///< by recordOf(), of the latest step; empty for large steps
    std::array<std::vector<std::uint8_t>, 2> recorded_; ///< bytes instead of bits, because several threads write them
};

/// The time from the end of a predecessor to the earliest start of a unit. `slot` is the predecessor's slot in
/// StepGraph::tasks(), and `transferTo(side, unit)` is the time of the transfer that feeds a unit. `holds` are those of
/// the graph, or empty.
template <class TransferTo>
[[nodiscard]] TimeNs lagOf(std::span<const Hold> holds, const TransferTo& transferTo, std::size_t slot,
                           std::size_t unit) {
    const TimeNs own = slot == 0 ? TimeNs{0} : transferTo(slot - 1, unit);
    if (holds.empty()) return own;
    const Hold& hold = holds[unit];
    TimeNs lag = slot == 0 && hold.receives ? transferTo(0, unit) : own;
    if (hold.sends_to != kNoUnit && (slot == 0 || hold.batch))
        lag = std::max(lag, transferTo(0, StepGraph::at(hold.sends_to)));
    return lag;
}
/// As above, for transfer times in the same layout as the graph's.
[[nodiscard]] inline TimeNs lagOf(std::span<const Hold> holds, const InputTimes& transfers, std::size_t slot,
                                  std::size_t unit) {
    return lagOf(
        holds, [&](std::size_t side, std::size_t of) { return transfers[side][of]; }, slot, unit);
}

struct Binding {
    UnitIndex unit = kNoUnit; ///< kNoUnit if the unit was bound only by the step's start
    Latest latest = Latest::Begin;
    bool crosses =
        false; ///< true if bound by a transfer that came from another rank or blocked this one: latestTransfer()
};

/// The binding predecessor of each unit. Linear time.
[[nodiscard]] std::vector<Binding> bindings(const StepGraph& graph);

/// The units of the critical path, from last to first. Each unit is the binding predecessor of the preceding list
/// entry.
[[nodiscard]] std::vector<UnitIndex> criticalUnits(const StepGraph& graph, const std::vector<Binding>& bindings);

} // namespace bubblescope
