#pragma once

#include "core/base/result.h"
#include "core/cost/cost_model.h"
#include "core/graph/dispatch.h"
#include "core/schedule/schedule.h"
#include "runtime/faults/fault.h"

#include <span>

namespace bubblescope::runtime {

/// Costs of one step in a paced run with these faults. Error: Usage for faults that do not change the times of ops or
/// links (slow, op, jitter and link do).
[[nodiscard]] Result<CostModel> faultyCosts(const Schedule& schedule, CostModel costs, std::span<const Fault> faults,
                                            int step);

/// Makespans of simulated steps with faults.
struct FaultySteps {
    TimeNs mean{0};
    TimeNs late{0}; ///< 95th percentile
};

/// Simulates steps 0 to `steps` − 1 with faults. With a policy, each step runs in the order that its ranks choose.
/// Errors: see faultyCosts(), dispatched() and simulate().
[[nodiscard]] Result<FaultySteps> simulateFaulty(const Schedule& schedule, const CostModel& costs,
                                                 std::span<const Fault> faults, int steps,
                                                 const DispatchPolicy& policy = {});

} // namespace bubblescope::runtime
