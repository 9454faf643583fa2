#pragma once

#include "core/base/large_list.h"
#include "core/graph/step_graph.h"
#include "core/timeline/step_selection.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bubblescope {

/// Assigns numbers to groups of similar ops: ops of the same kind, rank, chunk and sequence slice. Overlapped pairs are
/// grouped by the kind of op that overlaps the forward, by rank and by both chunks. Sorted by kind, so that all groups
/// of one kind are adjacent; pairs come last.
struct LikeKeys {
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    static constexpr std::size_t kAlone = 4; ///< number of kinds of ops that run alone, except the optimizer
    static constexpr std::size_t kPairs = 4; ///< number of kinds of pairs: a forward with an op of each kind

    int vpp = 1;
    int slices = 1;
    std::size_t ranks = 0;

    [[nodiscard]] std::size_t count() const { return ofKind() * kAlone + ofPairs() * kPairs; }
    [[nodiscard]] std::size_t ofKind() const {
        return ranks * static_cast<std::size_t>(vpp) * static_cast<std::size_t>(slices);
    }
    [[nodiscard]] std::size_t ofPairs() const {
        return ranks * static_cast<std::size_t>(vpp) * static_cast<std::size_t>(vpp);
    }
    [[nodiscard]] static std::size_t pairKind(OpKind first, OpKind second) {
        return static_cast<std::size_t>(first == OpKind::Forward ? second : first);
    }
    /// The group of the op at `index` of a rank's list, or of the pair that starts there. None for optimizers, and for
    /// ops whose chunk or slice does not exist.
    [[nodiscard]] std::size_t of(Rank rank, std::span<const TimelineOp> ops, std::size_t index) const;
    [[nodiscard]] std::size_t ofOp(Rank rank, OpKind kind, Chunk chunk, std::int32_t sequence) const;
    [[nodiscard]] std::size_t ofPair(Rank rank, const Op& first, const Op& second) const;

    friend bool operator==(const LikeKeys&, const LikeKeys&) = default;
};

/// The op times of one step, in the format that UsualTimes reads. Used for a window of steps whose usual times are
/// recomputed after each new step. 12 bytes per op.
class StepSamples {
public:
    explicit StepSamples(const StepTimeline& step);

private:
    friend class UsualTimes;

    /// True if keys fit into 32 bits; otherwise no samples are stored.
    [[nodiscard]] bool fits() const { return by_.count() <= UINT32_MAX; }

    LikeKeys by_; ///< only for this step
    std::vector<std::uint32_t> keys_;
    std::vector<TimeNs> times_;
};

/// The usual times of a run's ops on the device, without the gaps and exposed collectives inside them: medians over the
/// steady steps. Overlapped pairs are measured separately from ops that ran alone.
class UsualTimes {
public:
    /// All steps must have the same p and v; `selection` must belong to them. Ops that do not occur in any steady step
    /// are measured in the other steps. Linear in ops.
    UsualTimes(std::span<const StepTimeline> steps, const StepSelection& selection);
    explicit UsualTimes(std::span<const StepTimeline> steps) : UsualTimes(steps, selectSteps(steps)) {}
    /// Same as above, but faster; `samples` must have been taken from these steps.
    UsualTimes(std::span<const StepTimeline> steps, std::span<const StepSamples> samples,
               const StepSelection& selection);

    struct Times {
        TimeNs typical{0};  ///< typical time of this kind of op or pair: the median over all stages, but at most the
                            ///< mean over all stages
        TimeNs usual{0};    ///< usual time of this kind on this stage (and sequence slice)
        bool known = false; ///< true if both times are the same for all steps with this order of ops
    };
    /// The times of the op at `index` of a rank's list, or of the pair that starts there. For optimizer ops and ops
    /// whose chunk or slice does not exist, these are the op's measured time, and `known` is false.
    [[nodiscard]] Times of(const StepTimeline& step, Rank rank, std::size_t index) const;
    /// The times of a unit of a step. Usually reads only the graph, not the step.
    [[nodiscard]] Times of(const StepTimeline& step, const StepGraph& graph, std::size_t unit) const;

    UsualTimes() = default; ///< creates an object without times

private:
    class Lists;

    void findMedians(Lists& lists);
    [[nodiscard]] TimeNs meanOf(const Lists& lists, std::size_t from, std::size_t to) const;

    LikeKeys by_;
    std::vector<TimeNs> usual_;                                         ///< per group
    std::array<TimeNs, LikeKeys::kAlone + LikeKeys::kPairs> typical_{}; ///< per kind, then per kind of pair
};

/// The usual times of a step's units, never negative.
struct UnitTimes {
    ListToFill<TimeNs> typical;
    ListToFill<TimeNs> usual;

    UnitTimes(const UsualTimes& usual_times, const StepTimeline& step, const StepGraph& graph);
    /// Switches to another step with the same order (StepGraph::assign).
    void assign(const UsualTimes& usual_times, const StepTimeline& step, const StepGraph& graph);

private:
    std::vector<UnitIndex> unknown_; ///< units without times in UsualTimes
};

} // namespace bubblescope
