#pragma once

#include "core/base/process_team.h"

#include <string>
#include <string_view>

namespace bubblescope::runtime::test {

/// A run of these processes that checks itself, with a fault planted: "sticky", "nondet", "fixed" or "clean". Empty if
/// all of them and the trace describe it correctly.
[[nodiscard]] std::string checkVerdicts(std::string_view fault, ProcessTeam& team);

} // namespace bubblescope::runtime::test
