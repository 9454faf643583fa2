#pragma once

#include "core/aadiff/coverage.h"

#include <optional>
#include <span>
#include <vector>

namespace bubblescope {

/// What checks did in one step of one replica.
struct StepChecks {
    int step = 0;
    int replica = 0;
    CheckCounts counts;
    std::size_t units = 0; ///< kinds of op of a layer of a rank that replays have covered up to and with this step
    TimeNs delay{0};       ///< see delayByChecks()
};

/// One per step, in the order of `steps`; nothing where the log holds no checks.
[[nodiscard]] std::vector<StepChecks> checksByStep(const CheckLog& log, std::span<const StepTimeline> steps);

/// How many steps it took until no further unit was covered; nothing where none was.
[[nodiscard]] std::optional<int> stepsToCover(std::span<const StepChecks> steps);

} // namespace bubblescope
