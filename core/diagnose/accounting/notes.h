#pragma once

#include "core/diagnose/accounting/accounting.h"

#include <string>
#include <vector>

namespace bubblescope {

/// What to know of an accounting's figures, for people; a clause each, without a full stop.
[[nodiscard]] std::vector<std::string> accountingNotes(const StepAccounting& account);

} // namespace bubblescope
