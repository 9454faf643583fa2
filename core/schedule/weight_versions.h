#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <vector>

namespace bubblescope {

/// The number of optimizer ops of a rank that other ops follow. Those after all other ops end the step and are not part
/// of its order.
[[nodiscard]] int updatesWithin(const std::vector<Op>& ops);
/// True if a rank of the order has such ops.
[[nodiscard]] bool updatesWithinStep(const Schedule& order);

/// The weights that micro-batches see in an order that updates them within the step: a pipeline without a flush. A
/// version is a number of updates since the step began. The update at the end of the step counts, although the order
/// does not list it.
struct WeightVersions {
    int updates = 1; ///< per step
    /// By micro-batch: the update that applies its gradient.
    std::vector<int> update_of;
    /// By stage, then micro-batch: the version of its forward and backward.
    std::vector<std::vector<int>> used;
    /// By rank: the largest number of versions held at once.
    std::vector<int> held;

    /// Updates between the weights of a gradient and those that it changes: the largest of any micro-batch.
    [[nodiscard]] int delay(Stage stage) const;
};

/// Forwards use the newest weights of their rank if the order is PipeDream's with stashing. In all other orders, all
/// micro-batches of an update use the same version on all ranks: the newest that each rank has when it begins with
/// them. Errors: Input, if ranks update after different micro-batches or not in their order.
[[nodiscard]] Result<WeightVersions> weightVersions(const Schedule& schedule);

} // namespace bubblescope
