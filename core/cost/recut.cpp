#include "core/cost/recut.h"

namespace bubblescope {

Result<CostModel> recut(const CostModel& costs, int before, int now) {
    if (before == now) return costs;
    if (!costs.stages.empty()) {
        return usageError("times per stage hold for one number of chunks a rank only",
                          "give --forward and --backward instead, or compare schedules with equal chunks");
    }
    const auto scaled = [&](TimeNs time) { return time * before / now; };
    CostModel result = costs;
    result.times = {scaled(costs.times.forward), scaled(costs.times.backward), scaled(costs.times.input_grad),
                    scaled(costs.times.weight_grad), costs.times.optimizer};
    // Rounding must not make a whole backward differ from its halves.
    result.times.weight_grad = result.times.backward - result.times.input_grad;
    if (costs.overlapped) result.overlapped = scaled(*costs.overlapped);
    return result;
}

} // namespace bubblescope
