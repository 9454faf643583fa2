#pragma once

#include "core/analysis/accounting/accounting.h"
#include "core/base/sentence.h"

#include <vector>

namespace bubblescope {

/// What to know of an accounting's figures, for people; a clause each, without a full stop.
[[nodiscard]] std::vector<Sentence> accountingNotes(const StepAccounting& account);

} // namespace bubblescope
