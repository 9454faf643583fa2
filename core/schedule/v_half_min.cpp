// V-Half and V-Min: two chunks a rank along a V and split backwards, in orders that hold about a half and a
// third of the activations that 1F1B holds on its first rank. On a V a rank's long-lived activations of one
// chunk stand beside short-lived ones of the other, so that all ranks hold equally much; how much is set by
// how fast a micro-batch travels.
//
// A micro-batch passes rank s in these slots of one unit of time, and the next follows six slots later:
//            F0      F1         I1              I0
//   V-Half   2s      3p−2−s     3p−1+k+2s       6p−2+k−s      k = 3 if p is even, else 0
//   V-Min    s       2p−1−s     2p+k+s          4p−1+k−s      k = 2 if p is divisible by 3, else 0
// F0 and I1, which travel down, take two slots for a hop in V-Half and one in V-Min; F1 and I0 take one in
// both. k keeps the four apart modulo six. Weight gradients take the two slots of six that are left.
//
// The ends of the repeated pattern are loose. They are moved together twice, never holding more than the
// pattern: first warm-up and cool-down, with weight gradients where the pattern has them, then the cool-down
// again, as if each empty slot did one. The order is made for ops that all take one unit and is the same for
// other times.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"
#include "core/schedule/slot_table.h"

#include <fmt/format.h>

#include <utility>

namespace bubblescope {
namespace {

std::vector<SlotTable::Block> blocksOf(bool half, int p) {
    const int k = half ? (p % 2 == 0 ? 3 : 0) : (p % 3 == 0 ? 2 : 0);
    std::vector<SlotTable::Block> blocks;
    for (int s = 0; s < p; ++s) {
        blocks.push_back(half ? SlotTable::Block{2 * s, 3 * p - 2 - s, 3 * p - 1 + k + 2 * s, 6 * p - 2 + k - s}
                              : SlotTable::Block{s, 2 * p - 1 - s, 2 * p + k + s, 4 * p - 1 + k - s});
    }
    return blocks;
}

Result<Schedule> generate(const ScheduleSpec& spec) {
    if (spec.vpp != 2) {
        return usageError(fmt::format("{} has 2 chunks a rank, not {}", spec.name, spec.vpp), "give --vpp 2");
    }
    SlotTable table(blocksOf(spec.name == "v-half", spec.pp), spec.microbatches);
    table.addWeightGrads();
    table.moveUp(SlotTable::Extent::Ends);
    table.squeeze();
    table.removeWeightGrads();
    table.moveUp(SlotTable::Extent::Tail);
    table.addWeightGrads();
    table.squeeze();
    table.removeWeightGrads();
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.ranks = table.splitOrder();
    return schedule;
}

} // namespace

ScheduleFamily vHalfFamily() {
    return {"v-half", "V-Half", {}, {}, Placement::V, "m ≥ 1, v = 2", generate, nullptr};
}

ScheduleFamily vMinFamily() {
    return {"v-min", "V-Min", {}, {}, Placement::V, "m ≥ 1, v = 2", generate, nullptr};
}

} // namespace bubblescope
