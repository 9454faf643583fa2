#pragma once

#include "core/base/process_team.h"

namespace bubblescope::runtime {

/// Whether all processes can continue; each passes its own status, before they wait for each other in a run. Returns
/// the own error where there is one, else that of the first process that cannot continue, else success.
[[nodiscard]] Status agree(Status own, ProcessTeam& team);

} // namespace bubblescope::runtime
