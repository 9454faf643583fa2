#pragma once

#include "core/graph/hang.h"
#include "core/graph/validate.h"

#include <optional>
#include <vector>

namespace bubblescope {

/// The result of validate(), plus problems with actions.
struct LoweredValidation {
    /// Kinds in addition to those of validate(): transfer, wait, weights (checkActions()), pairing (wrongPairings())
    /// and hang. The index of such a problem refers to the rank's list of actions.
    std::vector<ScheduleProblem> problems;
    /// Not set if the order itself deadlocks or has no transfers.
    std::optional<HangVerdict> hang;
};

[[nodiscard]] LoweredValidation validateLowered(const LoweredSchedule& lowered, const ValidateOptions& options,
                                                const QueueModel& queues);

/// The verdict for one kind of communicator. verdictsOfAll() returns one for each kind that does not need a file.
struct CommunicatorVerdict {
    CommunicatorKind kind = CommunicatorKind::One;
    HangVerdict verdict;
    bool pairs_wrongly = false;
};
[[nodiscard]] std::vector<CommunicatorVerdict> verdictsOfAll(const LoweredSchedule& lowered, QueueModel queues);

} // namespace bubblescope
