#pragma once

#include "core/base/result.h"
#include "core/cost/communicators.h"
#include "core/graph/simulate_lowered.h"
#include "core/request/lowering_request.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace bubblescope {

/// A combination of receive positions and communicators for an order, with its effect.
struct CommunicationChoice {
    bool deferred_receives = false;
    std::optional<int> receives_ahead; ///< see TorchLowering
    CommunicatorKind kind = CommunicatorKind::One;
    std::vector<CommunicatorRule> rules; ///< for kind Rules: result of a first-fit search for few communicators
    std::size_t communicators = 0;       ///< number of communicators
    bool can_hang = false;
    bool pairs_wrongly = false;
    std::optional<TimeNs> makespan; ///< empty if the order hangs
    [[nodiscard]] bool safe() const { return !can_hang && !pairs_wrongly; }
};

/// All combinations for an order, with receives posted as early as in PyTorch, deferred, or a few ops ahead. All other
/// settings are those in `lowering`. Sorted: safe combinations first, then by step time, then by number of
/// communicators. If one communicator is unsafe and one per edge is safe, also merges edges while this remains safe,
/// unless there are too many combinations. Errors: those of LoweringRequest::lowered() and simulateLowered().
[[nodiscard]] Result<std::vector<CommunicationChoice>> communicationChoices(const Schedule& order,
                                                                            const CostModel& costs,
                                                                            LoweringRequest lowering, QueueModel queues,
                                                                            const WeightTimes& weights);

} // namespace bubblescope
