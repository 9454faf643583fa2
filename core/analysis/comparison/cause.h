#pragma once

#include "core/analysis/comparison/compare_runs.h"

#include <optional>

namespace bubblescope {

/// A rank whose ops all changed by the same factor, as on a slower device.
struct RankFactor {
    int replica = 0;
    int rank = 0;
    double factor = 1; ///< new op time / old op time; 1.3: ops take 1.3 times as long
    /// True if nothing changed on other ranks, in transfers or in the order: this rank alone explains the change.
    bool alone = false;
};

/// The rank whose ops changed most, if its forwards and backwards changed by the same factor. None if these factors
/// differ, or if too few steps were compared.
[[nodiscard]] std::optional<RankFactor> rankFactor(const RunComparison& comparison);

} // namespace bubblescope
