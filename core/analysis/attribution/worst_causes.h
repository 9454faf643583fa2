#pragma once

#include "core/analysis/attribution/attribution.h"
#include "core/analysis/attribution/explained_waits.h"
#include "core/analysis/attribution/step_excess.h"

#include <vector>

namespace bubblescope {

/// The causes that made wait most, kMaxRootCauses at most, the worst first; RootCause::saves and idle are not set.
/// What is counted together: a stage's ops, a link's transfers, a rank's delays of a kind; slow ops on their own.
/// `waits` are those of the same step, with their shares summed; `vpp` is the number of chunks a rank. Uses up to four
/// threads. Linear in units.
[[nodiscard]] std::vector<RootCause> worstCauses(const StepExcess& excess, const ExplainedWaits& waits, int vpp);

} // namespace bubblescope
