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

/// What ops of a run usually take on the device, gaps and exposed collectives inside them left out: medians over the
/// steady steps. Overlapped pairs are measured apart from ops that ran alone.
class UsualTimes {
public:
    /// All steps must have the same p and v; `selection` is of them. The other steps show what no steady step has.
    /// Linear in ops.
    UsualTimes(std::span<const StepTimeline> steps, const StepSelection& selection);
    explicit UsualTimes(std::span<const StepTimeline> steps) : UsualTimes(steps, selectSteps(steps)) {}

    struct Times {
        TimeNs typical{0};  ///< of the kind, over all stages
        TimeNs usual{0};    ///< of the kind on this stage (and slice of the sequence)
        bool known = false; ///< they follow from the order of the rank's ops alone
    };
    /// Of the op at `index` of a rank's list, or of the pair that begins there. Ops whose chunk or slice does not
    /// exist, and optimizer ops, are themselves what is usual, and not known.
    [[nodiscard]] Times of(const StepTimeline& step, Rank rank, std::size_t index) const;
    /// Of a unit of a step. Mostly needs the graph alone.
    [[nodiscard]] Times of(const StepTimeline& step, const StepGraph& graph, std::size_t unit) const;

    UsualTimes() = default; ///< nothing is known

    /// Serialization, see core/base/wire.h.
    template <class Wire>
    friend void fields(Wire& wire, UsualTimes& value) {
        auto& [vpp, slices, ranks, usual, typical] = value;
        auto count = std::uint64_t{ranks};
        wire(vpp, slices, count, usual, typical);
        ranks = static_cast<std::size_t>(count);
    }

private:
    static constexpr std::size_t kNoKey = static_cast<std::size_t>(-1);
    static constexpr std::size_t kAlone = 4; ///< kinds that run alone, the optimizer aside
    [[nodiscard]] std::size_t keysOfKind() const {
        return ranks_ * static_cast<std::size_t>(vpp_) * static_cast<std::size_t>(slices_);
    }
    [[nodiscard]] std::size_t keyOf(Rank rank, std::span<const TimelineOp> ops, std::size_t index) const;
    [[nodiscard]] std::size_t keyAlone(Rank rank, OpKind kind, Chunk chunk, std::int32_t sequence) const;
    [[nodiscard]] std::size_t keyOfPair(Rank rank, Chunk first, Chunk second) const;

    int vpp_ = 1;
    int slices_ = 1;
    std::size_t ranks_ = 0;
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
