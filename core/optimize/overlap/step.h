#pragma once

#include "core/optimize/overlap/streams.h"
#include "core/schedule/schedule.h"

namespace bubblescope::overlap {

/// How each unit of a schedule runs on its rank's two streams: a pair, and the passes that are in no pair.
struct UnitPlans {
    Plan pair;
    Plan forward;
    Plan backward;
};

struct StepRun {
    TimeNs makespan{0};
    PerPass<TimeNs> all_reduce{}; ///< of all ranks
    PerPass<TimeNs> hidden{};     ///< of that, beside compute
    int pairs = 0;                ///< of all ranks
    int singles = 0;              ///< backwards in no pair, of all ranks
};

/// Runs a step operator by operator. A pass starts when its rank's compute stream reaches it and its input is available
/// (the neighbour's pass ended, plus `comm`), and delivers its result when its last operator has ended, also from
/// within a pair. The schedule has whole backwards and one chunk per rank; all stages are alike. Errors: Usage for
/// other schedules and for steps of more than 50 million operators; Input for invalid orders.
[[nodiscard]] Result<StepRun> simulateStep(const Schedule& schedule, const UnitPlans& plans, const StreamRules& rules,
                                           TimeNs comm);

} // namespace bubblescope::overlap
