#pragma once

#include "core/base/result.h"
#include "core/cost/communicators.h"
#include "core/graph/simulate_lowered.h"
#include "core/request/lowering_request.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace bubblescope {

/// A place for receives and a kind of communicators, and their effect on an order.
struct CommunicationChoice {
    bool deferred_receives = false;
    CommunicatorKind kind = CommunicatorKind::One;
    std::vector<CommunicatorRule> rules; ///< for kind Rules: as few communicators as first fit finds
    std::size_t communicators = 0;       ///< how many
    bool can_hang = false;
    bool pairs_wrongly = false;
    std::optional<TimeNs> makespan; ///< none if it hangs
    [[nodiscard]] bool safe() const { return !can_hang && !pairs_wrongly; }
};

/// Every choice for an order; otherwise lowers it as requested in `lowering`. Safe ones first, then the shortest step,
/// then the fewest communicators. If one communicator is unsafe and one per edge is safe, also merges edges as far as
/// they stay safe, unless there are too many to try. Errors: those of LoweringRequest::lowered() and simulateLowered().
[[nodiscard]] Result<std::vector<CommunicationChoice>> communicationChoices(const Schedule& order,
                                                                            const CostModel& costs,
                                                                            LoweringRequest lowering, QueueModel queues,
                                                                            const WeightTimes& weights);

} // namespace bubblescope
