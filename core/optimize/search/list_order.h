#pragma once

#include "core/base/job.h"
#include "core/optimize/search/order_problem.h"

#include <cstdint>

namespace bubblescope {

/// The order in which micro-batches enter the first stage.
enum class Arrange : std::uint8_t {
    AsGiven,
    ShortestFirst, ///< by their total time through the pipeline
    LongestFirst,
    LongInTheMiddle, ///< while the pipeline is full
    Random,
};

/// The rule by which listOrder() chooses among the ops that a rank could run next.
struct ListRule {
    /// Micro-batches in flight on a rank, as a multiple of the number that covers the way to the last stage and back at
    /// the speed of the slowest rank.
    double in_flight = 1;
    bool forward_first = false; ///< below that number, prefers a forward to an input gradient
    bool strict = false;        ///< never more in flight, even if the rank has nothing else to do
    bool deep_first = true;     ///< prefers the later chunk; otherwise the earlier one
    double patience = 0;        ///< waits for an op that arrives within this fraction of the time of the other choice
    double fill = 0;            ///< a weight gradient runs if at least this fraction of it fits before the next arrival
    Arrange arrange = Arrange::AsGiven;
    double noise = 0; ///< random relative error of the estimated times to the end
    std::uint64_t seed = 0;
};

/// Builds an order by simulating how it runs: whenever a rank is free, it takes the op that the rule prefers among
/// those that memory allows. A chunk's forward leaves room for the later chunks of the rank, so that no order
/// deadlocks. O(ops · (ranks + chunks)). Empty if no order fits into the memory, or if `control` stopped the job.
[[nodiscard]] RankOrders listOrder(const OrderProblem& problem, const ListRule& rule, const JobControl& control = {});

} // namespace bubblescope
