#pragma once

#include "core/diagnose/accounting/accounting.h"

namespace bubblescope {

/// What the delays of a graph's units consist of, one entry a unit in each list; a list is empty where all are 0.
struct DelayParts {
    std::vector<TimeNs> communication; ///< a transfer of the unit's rank was under way
    std::vector<TimeNs> peer;          ///< none was, but its rank was in a send, receive or wait
    std::vector<TimeNs> replay;        ///< nor that, but it replayed work
    std::vector<TimeNs> late;          ///< nothing is known, and records cannot be lost
};

/// Splits each delay by what the records say of the time from where a unit could have begun to where it did.
[[nodiscard]] DelayParts splitDelays(const StepTimeline& step, const StepGraph& graph, const AccountingInput& input);

} // namespace bubblescope
