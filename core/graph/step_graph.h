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

/// Whether an overlapped pair begins at this op of a rank's list, which is not the second half of one. Halves between
/// which the rank was idle are no pair.
[[nodiscard]] inline bool beginsPair(std::span<const TimelineOp> ops, std::size_t index) {
    return ops[index].op.overlapped && index + 1 < ops.size() && ops[index + 1].op.overlapped &&
           ops[index + 1].start <= ops[index].end;
}

/// The op that a transfer feeds, by the record of its send or receive; negative where `ops`, which are those of the
/// step, do not have it.
[[nodiscard]] inline OpIndex fedBy(const CommSpan& span, const StepTimeline& step, const OpGraph& ops) {
    const bool known = span.microbatch.value >= 0 && span.microbatch.value < step.microbatches &&
                       span.stage.value >= 0 && span.stage.value < step.pp * step.vpp && span.sequence >= 0 &&
                       span.sequence < ops.sequenceSlices();
    if (!known) return kMissingOp;
    const OpKind fed = span.payload == Payload::Activation ? OpKind::Forward : OpKind::Backward;
    return ops.find(fed, span.microbatch, span.stage, span.sequence);
}

/// An optimizer op behind a rank's last unit. Nothing waits for it, so it only fills a bubble.
struct TrailingOp {
    TimeNs after{0}; ///< its start, from the end of the rank's last unit
    TimeNs duration{0};
};

/// Which predecessor a unit waited for last: the unit before it on its rank, or its first or second input. Where they
/// came together, the unit before it counts.
enum class Latest : std::int8_t { Begin = -2, Previous = -1, FirstInput = 0, SecondInput = 1 };

/// What a rank waits for after a unit besides the input of the next one, which the hold belongs to.
struct Hold {
    /// The unit that the output of the unit before feeds: until that transfer is through, the rank does not go on.
    /// kNoUnit where it does not wait for its send.
    UnitIndex sends_to = kNoUnit;
    /// That send and the unit's own input came in a batch: neither transfer began before both ranks had posted it.
    bool batch = false;
    /// The rank posted its receive after the unit before: the transfer began no sooner.
    bool receives = false;
};

/// A transfer, by the unit that it feeds and the side of that.
struct TransferPlace {
    std::size_t side = 0;
    std::size_t unit = 0;
};

/// A time of each unit's input, or of its first and its second one; there are no second ones where there are no pairs.
using InputTimes = std::array<ListToFill<TimeNs>, 2>;

/// An observed step as a graph of units. Times count from the step's begin.
///
/// A unit starts when its rank has ended the unit before it and its inputs are there: at
/// max(end of previous, end of input + transfer) + delay. Where ranks wait for their sends, as in batches of sends and
/// receives, these transfers hold it as well: lagOf(). With the observed durations, transfers and delays that is the
/// observed step again (step_replay.h), unless a unit began before its input was there by the record: its `delay` is
/// then negative.
///
/// Works for any timeline. Where ops of a rank overlap without being a pair, the later one is cut. Ops are clipped to
/// the step's window, so that the units of a rank add up to its busy time. An input is ignored where the timeline lacks
/// its producer, or where the order contradicts it. Linear in ops and transfers.
class StepGraph {
private:
    std::shared_ptr<const StepUnits> units_; ///< of those that are shared with others, or its own

public:
    // One entry a unit; as StepUnits.
    std::span<const std::int32_t> rank;
    std::span<const std::int32_t> op; ///< place of its (first) op in StepTimeline::ranks
    std::span<const OpKind> kind;
    std::span<const Chunk> chunk;
    std::span<const std::uint8_t> pair;
    std::array<std::span<const Way>, 2> way;
    // One entry a unit, of this step.
    InputTimes transfer; ///< that brings the input; 0 on one rank
    InputTimes sent;     ///< when that transfer began by the record; its input's end without
    ListToFill<TimeNs> start;
    ListToFill<TimeNs> end;
    ListToFill<TimeNs> delay;
    ListToFill<Latest> latest; ///< by the observed ends and transfers
    /// Where the records show batches (TransferBatches) and there are no pairs; else empty.
    std::vector<Hold> holds;
    // As TimelineOp has them, of a pair the lesser; empty where all are 0.
    std::vector<TimeNs> device_idle;
    std::vector<TimeNs> exposed_comm;

    std::span<const UnitIndex> last;               ///< per rank; kNoUnit for a rank without units
    std::vector<std::vector<TrailingOp>> trailing; ///< per rank, by start
    TimeNs wall{0};
    std::int64_t recorded_transfers = 0;  ///< between ranks, with a send or a receive in the trace
    std::int64_t estimated_transfers = 0; ///< without; they take the shortest lag observed between their two ranks
    std::int64_t ignored_inputs = 0;

    /// `ran` is that of the step; where it is null, it is found here.
    explicit StepGraph(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {});

    /// Becomes the graph of another step. True if that ran the same ops in the same order: units, inputs and ways,
    /// which follow from the order alone, are then kept. Most steps of a run do, which saves half of the work.
    bool assign(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {});

    [[nodiscard]] UnitIndex size() const { return static_cast<UnitIndex>(rank.size()); }
    [[nodiscard]] bool hasPairs() const { return !way[1].empty(); }
    [[nodiscard]] std::size_t sides() const { return hasPairs() ? 2 : 1; }
    /// The predecessors of each unit: in slot 0 the unit before it on its rank, then its inputs, one slot a side.
    [[nodiscard]] const TaskGraph& tasks() const { return units_->tasks; }
    /// The same, to be kept.
    [[nodiscard]] std::shared_ptr<const TaskGraph> sharedTasks() const { return {units_, &units_->tasks}; }
    /// The unit before it on its rank; kNoUnit for the first.
    [[nodiscard]] UnitIndex previous(std::size_t unit) const { return tasks().predecessors(unit)[0]; }
    /// kNoUnit for none.
    [[nodiscard]] UnitIndex input(std::size_t side, std::size_t unit) const {
        return tasks().predecessors(unit)[1 + side];
    }
    /// Whether a transfer brings the input.
    [[nodiscard]] bool crosses(std::size_t side, std::size_t unit) const { return way[side][unit] >= Way::Activation; }
    /// The transfer that the latest arrival before a unit came by; only where Binding::crosses.
    [[nodiscard]] TransferPlace latestTransfer(std::size_t unit) const {
        if (!holds.empty()) return latestOfHeld(unit);
        return {latest[unit] == Latest::SecondInput ? 1U : 0U, unit};
    }
    [[nodiscard]] TimeNs duration(UnitIndex unit) const { return end[at(unit)] - start[at(unit)]; }
    static std::size_t at(UnitIndex unit) { return static_cast<std::size_t>(unit); }

    /// An order in which units run where each rank follows `plan` instead. None where the plan's ops differ from the
    /// step's (optimizer ops aside) or where it cannot be executed.
    [[nodiscard]] std::optional<std::vector<UnitIndex>> orderBy(const Schedule& plan) const;

    /// The ops, but those trailing.
    [[nodiscard]] const OpGraph& ops() const { return *units_->ops; }
    [[nodiscard]] UnitIndex unitOf(OpIndex index) const { return units_->unit_of[at(index)]; }
    /// Of the ops in a rank's list, but those trailing; a pair's twice.
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
    void estimateTransfers(const StepTimeline& step);
    void findDelays();

    /// A transfer as one of its sides recorded it.
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
    std::shared_ptr<const ExecutedUnits> ran_;          ///< whose units these are; null where the step has its own
    bool ordered_by_start_ = false;                     ///< the order does not follow from that of the ops alone
    ListToFill<Record> sends_;                          ///< of the latest step, by the op that is fed; not kept of many
    ListToFill<Record> receives_;                       ///< the same
    std::array<std::vector<std::uint8_t>, 2> recorded_; ///< not bits: written by several threads
};

/// How long after a predecessor of a unit ended the unit could begin, by the predecessor's slot in StepGraph::tasks().
/// `transferTo(side, unit)` is what the transfer takes that feeds a unit; `holds` are the graph's, or none.
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
/// With these times of transfers, laid out as in the graph.
[[nodiscard]] inline TimeNs lagOf(std::span<const Hold> holds, const InputTimes& transfers, std::size_t slot,
                                  std::size_t unit) {
    return lagOf(
        holds, [&](std::size_t side, std::size_t of) { return transfers[side][of]; }, slot, unit);
}

struct Binding {
    UnitIndex unit = kNoUnit; ///< kNoUnit where there is none, so that the step's begin counts
    Latest latest = Latest::Begin;
    bool crosses = false; ///< by a transfer, from another rank or one that held this rank: StepGraph::latestTransfer()
};

/// The binding predecessor of each unit. Linear.
[[nodiscard]] std::vector<Binding> bindings(const StepGraph& graph);

/// The units of the critical path, from the one that ended last to the first: each is the binding predecessor of the
/// one before it in the list.
[[nodiscard]] std::vector<UnitIndex> criticalUnits(const StepGraph& graph, const std::vector<Binding>& bindings);

} // namespace bubblescope
