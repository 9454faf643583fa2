#pragma once

#include "core/analysis/attribution/attribution.h"
#include "core/analysis/attribution/explained_waits.h"
#include "core/analysis/attribution/step_excess.h"

#include <vector>

namespace bubblescope {

/// The causes that made ranks wait most, at most kMaxRootCauses, worst first; does not set RootCause::saves and idle.
/// Counted together: a stage's ops, a link's transfers, a rank's delays of a kind. Slow ops count individually, or
/// together if nearly all ops of their rank are slow. `waits` must be those of the same step, after sumShares(); `vpp`
/// is the number of chunks per rank. Uses up to four threads. Linear in units.
[[nodiscard]] std::vector<RootCause> worstCauses(const StepExcess& excess, const ExplainedWaits& waits, int vpp);

} // namespace bubblescope
