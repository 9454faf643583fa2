#pragma once

#include "core/analysis/comparison/compare_runs.h"

#include <optional>

namespace bubblescope {

/// A rank whose ops all changed by one factor, as with a slower device.
struct RankFactor {
    int replica = 0;
    int rank = 0;
    double factor = 1; ///< of its ops' times: 1.3 = 1.3 times as long
    /// True if no other rank's ops or transfers changed, nor the order: the step's change is then due to this rank.
    bool alone = false;
};

/// The rank whose ops changed most, if its forwards and backwards changed by the same factor. None in any other case,
/// and if too few steps were compared.
[[nodiscard]] std::optional<RankFactor> rankFactor(const RunComparison& comparison);

} // namespace bubblescope
