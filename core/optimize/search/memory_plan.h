#pragma once

#include "core/base/job.h"
#include "core/graph/lowered_memory.h"
#include "core/optimize/search/search.h"

#include <cstdint>
#include <vector>

namespace bubblescope {

/// The moves that are allowed for activations that do not fit.
struct MemoryMoves {
    bool offload = false;   ///< copied to the host and back
    bool recompute = false; ///< computed again before their backward
    bool balance = false;   ///< stored by the opposite rank p − 1 − r, as in BPipe
    WeightTimes times;      ///< of the copies

    [[nodiscard]] bool any() const { return offload || recompute || balance; }
};

/// An order that fits into the memory, with what it does to activations.
struct MemoryPlan {
    LoweredSchedule lowered; ///< with sends and receives
    LoweredStep step;
    std::vector<LoweredMemory> memory;       ///< per rank
    std::vector<std::int64_t> unmoved_peaks; ///< per rank, of the same order without moves
    int offloaded = 0;                       ///< forwards whose activations go to the host
    int recomputed = 0;
    int balanced = 0;
    [[nodiscard]] TimeNs makespan() const { return step.step.wall(); }
};

/// Makes an order fit: chooses the activations to move, and when. It evicts those whose backward is farthest away among
/// those whose copy can have ended by then, and reloads as early as memory allows, at most twice a copy's time ahead.
/// Memory is free only after a WAIT_OFFLOAD, so that the plan also fits if times vary. Every rank's mix of moves is
/// improved in turn, judged by simulation. `budgets` are bytes per rank.
///
/// The order must be valid, with one pipeline, whole sequences and no overlapped pairs. Errors: Usage for other orders;
/// Input, naming a rank, if no mix fits; Cancelled.
[[nodiscard]] Result<MemoryPlan> planMemory(const Schedule& order, const CostModel& costs, const MemoryModel& model,
                                            const std::vector<std::int64_t>& budgets, const MemoryMoves& moves,
                                            const JobControl& control);

/// The shortest step with moves: of all families of the request's sizes and placements, and of the order that
/// searchOrder() finds without a limit, each planned for the memory. The bound is that without a limit, because moves
/// only add work. `request` must have a memory model and bytes. Errors: those of searchOrder(); Input if nothing fits.
struct FoundPlan {
    MemoryPlan plan;
    FoundOrder unlimited;                ///< the best order if memory were unlimited, with the bound
    std::optional<TimeNs> without_moves; ///< the best order within the memory without moves; none if nothing fits
};
[[nodiscard]] Result<FoundPlan> searchWithMoves(const SearchRequest& request, const MemoryMoves& moves,
                                                const JobControl& control);

} // namespace bubblescope
