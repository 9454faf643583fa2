#pragma once

#include "core/analysis/whatif/run_model.h"
#include "core/analysis/whatif/scenario.h"
#include "core/base/result.h"
#include "core/graph/simulate_lowered.h"
#include "core/request/lowering_request.h"
#include "core/request/memory_request.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bubblescope {

/// PyTorch's options for gathering weights, and their effect on an order.
struct WeightChoice {
    int max_active_stages = 0;
    std::string lookahead; ///< see LoweringRequest::unshard_lookahead
    TimeNs makespan{0};
    std::optional<std::int64_t> peak; ///< highest memory peak of any rank, if there is a memory model
};

/// All combinations of max_active_stages and lookahead for an order that is otherwise lowered according to `lowering`.
/// Sorted by step time, then by memory, then by number of stages. Errors: those of LoweringRequest::lowered() and
/// simulateLowered().
[[nodiscard]] Result<std::vector<WeightChoice>> weightChoices(const Schedule& order, const CostModel& costs,
                                                              LoweringRequest lowering, const QueueModel& queues,
                                                              const WeightTimes& weights, const MemoryRequest& memory);

/// An op that waits for its weights although an earlier UNSHARD could shorten the wait.
struct EarlierUnshard {
    Rank rank;
    Stage stage;
    std::string op;      ///< the waiting op
    int ops_earlier = 0; ///< number of ops by which the UNSHARD should move earlier
    TimeNs exposed{0};   ///< duration of the wait
    TimeNs hidden{0};    ///< part of the wait that would be hidden
};

/// For each of the longest waits: the smallest shift that hides most of it. Sorted by hidden time, longest first.
[[nodiscard]] Result<std::vector<EarlierUnshard>> earlierUnshards(const LoweredSchedule& lowered,
                                                                  const CostModel& costs, const QueueModel& queues,
                                                                  const WeightTimes& weights);

/// As above, for a run: its order with PyTorch's actions in their default places, and its mean times. `unshard` is the
/// time to gather the weights of a stage. Errors: those of MeanPipeline::of() and lowerAsTorch().
[[nodiscard]] Result<std::vector<EarlierUnshard>> earlierUnshards(const RunModel& run, const Schedule& order,
                                                                  const ModelCut& cut, TimeNs unshard);

} // namespace bubblescope
