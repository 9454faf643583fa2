#pragma once

#include "core/recognise/run.h"

namespace bubblescope {

/// A run that leaves the closest family's order has made departures from it if at least this share of its ops follow
/// the op that they follow there; with less it has an order of its own.
inline constexpr double kDepartureShare = 0.75;

/// The order that a run's steps were meant to follow: the family's whose order they have, or whose order they left
/// here and there; else that of the first step. Lives as long as the run. Linear in ops.
[[nodiscard]] const Schedule& plannedOrder(const Run& run);

} // namespace bubblescope
