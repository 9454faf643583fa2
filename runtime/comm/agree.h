#pragma once

#include "core/base/process_team.h"

namespace bubblescope::runtime {

/// Decides whether all processes can continue; each passes its status, before they wait for each other in a run.
/// Returns this process's error if it has one, else that of the first process that cannot continue, else success.
[[nodiscard]] Status agree(Status own, ProcessTeam& team);

} // namespace bubblescope::runtime
