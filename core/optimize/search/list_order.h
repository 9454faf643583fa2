#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_problem.h"

#include <cstdint>

namespace bubblescope {

/// The order in which micro-batches enter the first stage.
enum class Arrange : std::uint8_t {
    AsGiven,
    ShortestFirst, ///< by their total time in the pipeline
    LongestFirst,
    LongInTheMiddle, ///< long micro-batches while the pipeline is full
    Random,
};

/// The rule that listOrder() uses to choose among the ops that a rank could run next.
struct ListRule {
    /// Number of micro-batches in flight on a rank, as a multiple of the number that covers the path to the last stage
    /// and back at the speed of the slowest rank.
    double in_flight = 1;
    bool forward_first = false; ///< true to prefer forwards to input gradients while fewer micro-batches are in flight
    bool strict = false;        ///< true to limit the number in flight even if the rank becomes idle
    bool deep_first = true;     ///< true to prefer later chunks, false to prefer earlier ones
    double patience = 0;        ///< maximum wait for a preferred op, as a fraction of the other op's time
    double fill = 0;            ///< minimum fraction of a weight gradient that must fit before the next arrival
    Arrange arrange = Arrange::AsGiven;
    double noise = 0; ///< random relative error of the estimated times to the end
    std::uint64_t seed = 0;
};

/// Builds an order by simulation. A free rank runs the op that the rule prefers among those that fit into memory. A
/// chunk's forward leaves memory for the later chunks of the rank, so that no order deadlocks. O(ops · (ranks +
/// chunks)). Empty if no order fits into the memory, or if `control` stops the job.
[[nodiscard]] RankOrders listOrder(const OrderProblem& problem, const ListRule& rule, const JobControl& control = {});

} // namespace bubblescope
