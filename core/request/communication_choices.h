#pragma once

#include "core/base/result.h"
#include "core/cost/communicators.h"
#include "core/graph/simulate_lowered.h"
#include "core/request/lowering_request.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace bubblescope {

/// A place for receives and a kind of communicators, and what they do to an order.
struct CommunicationChoice {
    bool deferred_receives = false;
    CommunicatorKind kind = CommunicatorKind::One;
    std::vector<CommunicatorRule> rules; ///< of kind Rules: as few communicators as first fit finds
    std::size_t communicators = 0;       ///< how many
    bool can_hang = false;
    bool pairs_wrongly = false;
    std::optional<TimeNs> makespan; ///< none where it hangs
    [[nodiscard]] bool safe() const { return !can_hang && !pairs_wrongly; }
};

/// Every choice for an order that `lowering` lowers otherwise as asked: safe ones first, the shortest step first, then
/// the fewest communicators. Where one communicator is unsafe and one per edge is safe, edges are also merged as far as
/// they stay safe, unless there are too many to try. Errors: those of LoweringRequest::lowered() and simulateLowered().
[[nodiscard]] Result<std::vector<CommunicationChoice>> communicationChoices(const Schedule& order,
                                                                            const CostModel& costs,
                                                                            LoweringRequest lowering, QueueModel queues,
                                                                            const WeightTimes& weights);

} // namespace bubblescope
