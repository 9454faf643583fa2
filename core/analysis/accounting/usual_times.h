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

/// Numbers groups of like ops: those of one kind, rank, chunk and slice of the sequence, and overlapped pairs by rank
/// and both chunks. Kind after kind, so that all groups of one are neighbours; pairs are the last.
struct LikeKeys {
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    static constexpr std::size_t kAlone = 4; ///< kinds that run alone, the optimizer aside

    int vpp = 1;
    int slices = 1;
    std::size_t ranks = 0;

    [[nodiscard]] std::size_t count() const {
        return ofKind() * kAlone + ranks * static_cast<std::size_t>(vpp) * static_cast<std::size_t>(vpp);
    }
    [[nodiscard]] std::size_t ofKind() const {
        return ranks * static_cast<std::size_t>(vpp) * static_cast<std::size_t>(slices);
    }
    /// Of the op at `index` of a rank's list, or of the pair that begins there. Optimizers, and ops whose chunk or
    /// slice does not exist, have none.
    [[nodiscard]] std::size_t of(Rank rank, std::span<const TimelineOp> ops, std::size_t index) const;
    [[nodiscard]] std::size_t ofOp(Rank rank, OpKind kind, Chunk chunk, std::int32_t sequence) const;
    [[nodiscard]] std::size_t ofPair(Rank rank, Chunk first, Chunk second) const;

    friend bool operator==(const LikeKeys&, const LikeKeys&) = default;
};

/// What the ops of one step took, as UsualTimes reads it: for a window of steps whose usual times are needed again
/// after each new step. 12 bytes an op.
class StepSamples {
public:
    explicit StepSamples(const StepTimeline& step);

private:
    friend class UsualTimes;

    /// Whether keys fit into 32 bits; none are kept otherwise.
    [[nodiscard]] bool fits() const { return by_.count() <= UINT32_MAX; }

    LikeKeys by_; ///< of this step alone
    std::vector<std::uint32_t> keys_;
    std::vector<TimeNs> times_;
};

/// What ops of a run usually take on the device, gaps and exposed collectives inside them left out: medians over the
/// steady steps. Overlapped pairs are measured apart from ops that ran alone.
class UsualTimes {
public:
    /// All steps must have the same p and v; `selection` is of them. The other steps show what no steady step has.
    /// Linear in ops.
    UsualTimes(std::span<const StepTimeline> steps, const StepSelection& selection);
    explicit UsualTimes(std::span<const StepTimeline> steps) : UsualTimes(steps, selectSteps(steps)) {}
    /// The same, faster; `samples` are those of the steps.
    UsualTimes(std::span<const StepTimeline> steps, std::span<const StepSamples> samples,
               const StepSelection& selection);

    struct Times {
        TimeNs typical{0};  ///< of the kind: the median over all stages, at most their mean, which a split of the model
                            ///< into equal stages reaches
        TimeNs usual{0};    ///< of the kind on this stage (and slice of the sequence)
        bool known = false; ///< they follow from the order of the rank's ops alone
    };
    /// Of the op at `index` of a rank's list, or of the pair that begins there. Ops whose chunk or slice does not
    /// exist, and optimizer ops, are themselves what is usual, and not known.
    [[nodiscard]] Times of(const StepTimeline& step, Rank rank, std::size_t index) const;
    /// Of a unit of a step. Mostly needs the graph alone.
    [[nodiscard]] Times of(const StepTimeline& step, const StepGraph& graph, std::size_t unit) const;

    UsualTimes() = default; ///< nothing is known

private:
    class Lists;

    void findMedians(Lists& lists);
    [[nodiscard]] TimeNs meanOf(const Lists& lists, std::size_t from, std::size_t to) const;

    LikeKeys by_;
    std::vector<TimeNs> usual_;       ///< per key
    std::array<TimeNs, 5> typical_{}; ///< per kind; the last is that of pairs
};

/// UsualTimes of a step's units, none negative.
struct UnitTimes {
    ListToFill<TimeNs> typical;
    ListToFill<TimeNs> usual;

    UnitTimes(const UsualTimes& usual_times, const StepTimeline& step, const StepGraph& graph);
    /// Becomes those of another step of the same order (StepGraph::assign).
    void assign(const UsualTimes& usual_times, const StepTimeline& step, const StepGraph& graph);

private:
    std::vector<UnitIndex> unknown_; ///< UsualTimes does not know them
};

} // namespace bubblescope
