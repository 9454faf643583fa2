#pragma once

#include "core/base/result.h"
#include "core/cost/memory_model.h"
#include "core/graph/moving_weights.h"
#include "core/plan/judge.h"

#include <string_view>

/// Layouts in whose pipelines weights travel (core/graph/moving_weights.h): WeiPipe and TawPipe. Each of the pp ranks
/// runs all stages of its micro-batches, and owns the optimizer state of one stage.
namespace bubblescope::plan {

/// True if weights travel between ranks in this schedule.
[[nodiscard]] bool weightsTravel(std::string_view schedule);

/// In TawPipe, a node is a host. Errors: Usage if weights do not travel, if they or their gradients are also sharded
/// (ZeRO 2 and 3), or if the hosts do not hold equal numbers of several pipeline ranks.
[[nodiscard]] Result<MovingWeights> travelOf(const Layout& layout, const Cluster& cluster);

/// Times of ops and messages. A message holds the largest stage: weights in 16 bits, or gradients in 32.
[[nodiscard]] MovingWeightTimes travelTimes(const MovingWeights& moving, const Pipeline& pipeline, const Layout& layout,
                                            const Cluster& cluster);

/// The states that a rank stores: those of its stage, and buffers with four more stages' weights and two stages'
/// gradients. For all ranks, those of the largest stage. `stages` has the memory of each stage.
[[nodiscard]] StageMemory travellingStates(const MemoryModel& stages);

} // namespace bubblescope::plan
