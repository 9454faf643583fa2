#pragma once

#include "core/analysis/comparison/compare_runs.h"

#include <optional>

namespace bubblescope {

/// A rank all of whose ops changed by one factor, as with a slower device.
struct RankFactor {
    int replica = 0;
    int rank = 0;
    double factor = 1; ///< of its ops' times: 1.3 = 1.3 times as long
    /// Whether ops and transfers of no other rank changed, nor the order: the step's change is then due to this rank.
    bool alone = false;
};

/// The rank whose ops changed most, if forwards and backwards did by the same factor. None in any other case, and where
/// too few steps were compared to tell.
[[nodiscard]] std::optional<RankFactor> rankFactor(const RunComparison& comparison);

} // namespace bubblescope
