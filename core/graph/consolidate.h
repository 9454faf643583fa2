#pragma once

#include "core/base/large_list.h"
#include "core/graph/longest_path.h"
#include "core/graph/step_units.h"
#include "core/timeline/bubbles.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bubblescope {

/// Re-times a step within its slack, so that its idle time is where the closed forms place it. The makespan, every op's
/// duration, every rank's order and every transfer's latency stay the same. Ops only move later, and the halves of an
/// overlapped pair move together. Positions in closed forms refer to the re-timed step. A step with missing ops, or
/// with an order that contradicts the dependencies, is returned unchanged.
///
/// In 1F1B the result is unique. In schedules with more warm-up, the middle bubble can be divided into time before and
/// time after the steady phase. `before_steady` (per rank; may have fewer than pp entries) is the desired idle time
/// before the steady phase, respected as far as slack allows. By default, the time before is as short as possible.
///
/// Other choices are fixed as follows. Warm-up stays as early as observed, so that its gaps stay in place. If no delay
/// can close the gaps in the steady phase, the phase starts as late as the makespan allows. Cool-down runs as late as
/// possible, but the weight gradients after a rank's last input gradient follow it immediately.
[[nodiscard]] StepTimeline consolidate(const StepTimeline& step, std::span<const TimeNs> before_steady = {});

/// Runs consolidate() on successive steps of a run. Steps with the same order share their units and dependencies
/// (ExecutedUnits).
class Consolidation {
public:
    /// `step` must outlive this object or remain valid until the next call to assign(). `ran` must contain the step's
    /// units; if null, the constructor computes them.
    explicit Consolidation(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {});
    /// True if the step has the same order as the previous one.
    bool assign(const StepTimeline& step, std::shared_ptr<const ExecutedUnits> ran = {});

    [[nodiscard]] const StepOrder& order() const { return ran_->order; }
    /// False if ops are missing or the observed order contradicts the dependencies.
    [[nodiscard]] bool possible() const;
    /// The result of consolidate(), without transfers. Valid until the next call.
    [[nodiscard]] const StepTimeline& retimed(std::span<const TimeNs> before_steady);
    /// bubblesByPosition() of the re-timed step.
    [[nodiscard]] std::vector<PerPosition<TimeNs>> bubbles(std::span<const TimeNs> before_steady);

private:
    /// The phase of the rank's step that a unit belongs to.
    enum class Part : std::uint8_t {
        WarmUp,
        Steady,
        Cooldown,
        Tail, ///< cool-down after the last input gradient
    };
    struct RankUnits {
        UnitIndex before_steady = kNoUnit; ///< the unit before the first steady one; kNoUnit if there is none
        UnitIndex first_steady = kNoUnit;  ///< kNoUnit for a rank without a steady phase
    };
    /// The position of one op of a pair within the pair's unit.
    struct Half {
        TimeNs begin{0}; ///< offset from its unit's start
        TimeNs end{0};
    };
    /// A unit's input from another unit of the same rank. Needed only if ops of the rank overlap; otherwise, the rank's
    /// order implies this input.
    struct OwnInput {
        UnitIndex unit = kNoUnit; ///< the waiting unit
        UnitIndex from = kNoUnit;
        TimeNs lag{0};
    };

    void findPhasesOfUnits();
    void findRankUnits(Rank rank);
    void readTimes();
    void readRank(std::size_t r);
    void readLatencies();
    void findLags();
    void findOwnInputs();
    void findLatest();
    void settle();
    void gatherSteady(std::span<const TimeNs> before_steady);
    bool holdBackSteady(std::span<const TimeNs> before_steady);
    [[nodiscard]] TimeNs wantedSteadyStart(std::size_t r, std::span<const TimeNs> before_steady) const;
    void gatherCooldown();
    void retime(std::span<const TimeNs> before_steady);
    template <class Limit>
    void limitBackwards(Limit limit);

    [[nodiscard]] const StepUnits& units() const { return *ran_->units; }
    [[nodiscard]] std::size_t sides() const { return units().way[1].empty() ? 1 : 2; }
    [[nodiscard]] OpIndex opOf(std::size_t unit, std::size_t side) const;
    [[nodiscard]] Half halfOf(OpIndex op) const;
    [[nodiscard]] TimeNs lengthOf(UnitIndex unit) const { return length_[static_cast<std::size_t>(unit)]; }

    const StepTimeline* step_;
    std::shared_ptr<const ExecutedUnits> ran_;
    // Members that depend only on the order.
    std::vector<Part> part_; ///< per unit
    std::vector<RankUnits> ranks_;
    // Members that depend on the step's times.
    ListToFill<TimeNs> lag_;           ///< per edge: minimum time from the start of one unit to the start of the other
    std::vector<OwnInput> own_inputs_; ///< by unit
    ListToFill<TimeNs> latency_;       ///< per op: the time of the receive that feeds it; 0 if unknown
    std::array<std::vector<Half>, 2> halves_; ///< per unit; empty if there are no pairs
    TaskTimes start_;                         ///< start, per unit
    ListToFill<TimeNs> length_;               ///< per unit
    TaskTimes latest_;                        ///< latest start, per unit
    ListToFill<TimeNs> moved_;                ///< new start, per op; uses the memory of `latency_`
    StepTimeline retimed_;
};

} // namespace bubblescope
