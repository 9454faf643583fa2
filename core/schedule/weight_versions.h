#pragma once

#include "core/base/result.h"
#include "core/schedule/schedule.h"

#include <vector>

namespace bubblescope {

/// Number of optimizer ops on a rank that are followed by other ops. Optimizer ops that come after all other ops are
/// not counted, because they end the step.
[[nodiscard]] int updatesWithin(const std::vector<Op>& ops);
/// True if a rank of the order has optimizer ops that are followed by other ops.
[[nodiscard]] bool updatesWithinStep(const Schedule& order);

/// The weights that micro-batches use in an order that updates weights within the step, that is, in a pipeline without
/// a flush. A version is identified by the number of updates since the start of the step. The update at the end of the
/// step counts too, although it is not part of the order.
struct WeightVersions {
    int updates = 1; ///< per step
    /// By micro-batch: index of the update that applies its gradient.
    std::vector<int> update_of;
    /// By stage, then by micro-batch: the version used by its forward and backward.
    std::vector<std::vector<int>> used;
    /// By rank: the maximum number of versions that are stored simultaneously.
    std::vector<int> held;

    /// Maximum number of updates between the weights that produced a gradient and those to which it is applied.
    [[nodiscard]] int delay(Stage stage) const;
};

/// Forwards use the newest weights of their rank if the order is that of PipeDream with weight stashing. In all other
/// orders, all micro-batches of an update use the same version on all ranks: the newest one that every rank has when it
/// starts these micro-batches. Errors: Input, if ranks update after different micro-batches or out of order.
[[nodiscard]] Result<WeightVersions> weightVersions(const Schedule& schedule);

} // namespace bubblescope
