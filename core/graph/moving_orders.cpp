#include "core/graph/moving_orders.h"

#include "core/graph/moving_stages.h"
#include "core/graph/moving_weights.h"
#include "core/schedule/moving_names.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>

namespace bubblescope {
std::vector<Schedule> movingOrders(int pp, int microbatches, int stages) {
    std::vector<Schedule> orders;
    const auto add = [&](Result<Schedule> made) {
        if (made.ok()) orders.push_back(std::move(made).value());
    };
    if (pp < 1 || stages < 1) return orders;
    if (stages % pp == 0) add(movingOrder({pp, microbatches, stages, stages}));
    for (const WeightPath path : kWeightPaths) {
        if (stages == pp) add(movingWeightsOrder({path, pp, microbatches, 1}));
    }
    return orders;
}

Result<TimeNs> movingMakespan(const Schedule& order, const CostModel& costs) {
    if (order.name == kRoundPipe) {
        const MovingTimes times{costs.times.forward, costs.times.backward, costs.comm, TimeNs{0}};
        BUBBLESCOPE_ASSIGN(const MovingForm form,
                           movingForm({order.pp, order.microbatches, order.vpp, order.vpp}, times));
        return form.makespan;
    }
    const std::optional<WeightPath> path = weightPathNamed(order.name);
    if (!path || order.vpp != order.pp)
        return usageError(fmt::format("no known closed form for the schedule '{}'", order.name));
    const auto stages = static_cast<std::size_t>(order.vpp);
    const MovingWeightTimes times{std::vector(stages, costs.times.forward),
                                  std::vector(stages, *path == WeightPath::RingSplit
                                                          ? costs.times.input_grad + costs.times.weight_grad
                                                          : costs.times.backward),
                                  {},
                                  {},
                                  {},
                                  std::vector(stages, costs.times.weight_grad)};
    return movingWeightsForm({*path, order.pp, order.microbatches, nodesOfFlavor(order.flavor)}, times);
}

} // namespace bubblescope
