#pragma once

#include "core/analysis/statistics/change_point.h"

#include <cstddef>
#include <span>

namespace bubblescope::statistics {

/// Whether findChanges() may find a change in the values from `begin` on: most series have none, and this takes a
/// quarter of the time where the processor has wide vectors. It follows the same stretches with logarithms and
/// exponentials of its own, which are exact to 1e-14, in lanes; so it is for a first look, and what is reported is
/// computed by findChanges() itself. Errs towards a change, by more than what rounding can make up.
[[nodiscard]] bool mayChange(std::span<const double> values, std::size_t begin, double centre, double spread,
                             const ChangeLimits& limits);

} // namespace bubblescope::statistics
