#pragma once

#include "core/graph/longest_path.h"
#include "core/timeline/bubbles.h"

#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// Re-times a step within its slack so that idle time gathers at the closed forms' positions; the
/// makespan, every op's duration, every rank's order and every transfer's latency stay what they were.
/// Ops only ever move later; the halves of an overlapped pair move together. Closed-form positions refer to the
/// result of this. A step whose ops are incomplete or contradict the dependencies is returned unchanged.
///
/// In 1F1B the result is unique. Schedules with more warm-up leave a choice of how much of the middle
/// bubble lies before the steady part and how much behind it: `before_steady` (per rank, may be shorter
/// than pp) is the wanted time before it, kept as far as the slack allows. Without it as little as possible
/// lies before the steady part.
///
/// Where slack leaves more choices: warm-up stays as early as observed, so that its gaps stay in place. A steady part
/// whose gaps no delay can close begins as late as the makespan allows. Cool-down comes as late as possible, but the
/// weight gradients behind a rank's last input gradient follow it at once.
[[nodiscard]] StepTimeline consolidate(const StepTimeline& step, std::span<const TimeNs> before_steady = {});

/// consolidate() for the steps of a run in turn: units and their dependencies are found once for all steps of the same
/// order.
class Consolidation {
public:
    /// `step` must live until the next call of assign(), or as long as this object.
    explicit Consolidation(const StepTimeline& step);
    /// True if the step has the order of the one before.
    bool assign(const StepTimeline& step);

    [[nodiscard]] const StepOrder& order() const { return order_; }
    /// False where ops are missing or the observed order contradicts the dependencies.
    [[nodiscard]] bool possible() const;
    /// The result of consolidate(), without transfers. Valid until the next call.
    [[nodiscard]] const StepTimeline& retimed(std::span<const TimeNs> before_steady);
    /// bubblesByPosition() of that.
    [[nodiscard]] std::vector<PerPosition<TimeNs>> bubbles(std::span<const TimeNs> before_steady);

private:
    /// Units are numbered through, rank after rank, in execution order.
    using UnitIndex = TaskIndex;

    /// A rank's units: warm-up [begin, steady), steady [steady, cooldown), cool-down [cooldown, end), of which
    /// [tail, end) follows the last input gradient.
    struct RankUnits {
        UnitIndex begin = 0;
        UnitIndex steady = 0;
        UnitIndex cooldown = 0;
        UnitIndex tail = 0;
        UnitIndex end = 0;
        [[nodiscard]] bool hasSteady() const { return steady < cooldown; }
    };

    /// The meaning of an edge of `units_`: a unit starts no earlier than some lag after the start of the unit before it
    /// on its rank, or of the unit to which the first of these ops belongs.
    struct Constraint {
        OpIndex from = kNoOp; ///< kNoOp where it is the order
        OpIndex to = kNoOp;
        bool transfer = false; ///< the output of `from` comes from another rank
    };

    void formUnits();
    void findRankUnits(Rank rank);
    void linkUnits(std::vector<UnitIndex> sequence);
    void readTimes();
    void readLatencies();
    void findLags();
    void findLatest();
    void settle();
    void gatherSteady(std::span<const TimeNs> before_steady);
    bool holdBackSteady(std::span<const TimeNs> before_steady);
    [[nodiscard]] TimeNs wantedSteadyStart(std::size_t r, std::span<const TimeNs> before_steady) const;
    void gatherCooldown();
    void retime(std::span<const TimeNs> before_steady);
    template <class Limit>
    void limitBackwards(Limit limit);

    [[nodiscard]] OpIndex firstOp(UnitIndex unit) const { return first_op_[static_cast<std::size_t>(unit)]; }
    [[nodiscard]] TimeNs lengthOf(UnitIndex unit) const { return length_[static_cast<std::size_t>(unit)]; }

    const StepTimeline* step_;
    StepOrder order_;
    // These depend on the order alone.
    bool runnable_ = false;         ///< the order does not contradict the dependencies
    std::vector<UnitIndex> unit_;   ///< per op
    std::vector<OpIndex> first_op_; ///< per unit, and the end of the last
    std::vector<RankUnits> ranks_;
    TaskGraph units_;
    std::vector<Constraint> constraints_; ///< per edge of `units_`
    // These depend on the step's times.
    std::vector<TimeNs> lag_;      ///< per edge of `units_`
    std::vector<TimeNs> observed_; ///< per op
    std::vector<TimeNs> duration_; ///< per op
    std::vector<TimeNs> latency_;  ///< per op: the time of the receive that feeds it; 0 where unknown
    std::vector<TimeNs> offset_;   ///< per op, from its unit's start
    TaskTimes start_;              ///< per unit
    std::vector<TimeNs> length_;   ///< per unit
    TaskTimes latest_;             ///< per unit: its start
    TaskTimes settled_;            ///< per unit: its start
    std::vector<bool> movable_;    ///< per unit
    StepTimeline retimed_;
};

} // namespace bubblescope
