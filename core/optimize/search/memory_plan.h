#pragma once

#include "core/base/job.h"
#include "core/graph/lowered_memory.h"
#include "core/optimize/search/search.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// Permitted ways to move activations that do not fit into memory.
struct MemoryMoves {
    bool offload = false;   ///< copy to the host and back
    bool recompute = false; ///< recompute before the backward
    bool balance = false;   ///< store on the opposite rank p − 1 − r, as in BPipe
    WeightTimes times;      ///< times of the copies

    [[nodiscard]] bool any() const { return offload || recompute || balance; }
};

/// An order that fits into the memory by moving activations.
struct MemoryPlan {
    LoweredSchedule lowered; ///< includes sends and receives
    LoweredStep step;
    std::vector<LoweredMemory> memory;       ///< per rank
    std::vector<std::int64_t> unmoved_peaks; ///< each rank's peak for the same order without moves
    int offloaded = 0;                       ///< number of forwards whose activations are copied to the host
    int recomputed = 0;
    int balanced = 0;
    [[nodiscard]] TimeNs makespan() const { return step.step.wall(); }
};

/// Makes an order fit into memory by choosing which activations to move, and when. Among the activations whose copy can
/// end in time, evicts those whose backward is farthest away. Reloads start as early as memory allows, but at most
/// about two copy times before use. Memory counts as free only after a WAIT_OFFLOAD, so that the plan also fits if
/// times vary. The mix of moves is improved rank by rank and evaluated by simulation. `budgets` are bytes per rank.
///
/// The order must be valid, with one pipeline, unsplit sequences and no overlapped pairs. Errors: Usage for other
/// orders; Input, with a rank, if no mix of moves fits; Cancelled.
[[nodiscard]] Result<MemoryPlan> planMemory(const Schedule& order, const CostModel& costs, const MemoryModel& model,
                                            const std::vector<std::int64_t>& budgets, const MemoryMoves& moves,
                                            const JobControl& control);

/// The shortest step with moves. Candidates are all families for the request's sizes and placements, and the result of
/// searchOrder() without a limit; each is planned for the memory. The bound is that for unlimited memory, because moves
/// only add work. `request` must have a memory model and bytes. Errors: those of searchOrder(); Input if nothing fits.
struct FoundPlan {
    MemoryPlan plan;
    FoundOrder unlimited;                ///< the best order for unlimited memory, and the bound
    std::optional<TimeNs> without_moves; ///< makespan of the best order that fits without moves; none if no order fits
};
[[nodiscard]] Result<FoundPlan> searchWithMoves(const SearchRequest& request, const MemoryMoves& moves,
                                                const JobControl& control);

} // namespace bubblescope
