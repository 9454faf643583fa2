#pragma once

#include "core/base/process_team.h"

#include <string>
#include <string_view>

namespace bubblescope::runtime::test {

/// Runs these processes with checks and a planted fault: "sticky", "nondet", "fixed" or "clean". Returns an empty text
/// if all processes and the trace describe the fault correctly.
[[nodiscard]] std::string checkVerdicts(std::string_view fault, ProcessTeam& team);

} // namespace bubblescope::runtime::test
