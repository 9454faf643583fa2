// V-shaped orders that repeat a pattern (slot_table.h), with two chunks per rank along a V.
//
// V-Half and V-Min (Qi et al., 2024), with split backwards, hold about a half and a third of the activations that 1F1B
// holds on its first rank. On a V, a rank has long-lived activations of one chunk and short-lived ones of the other, so
// all ranks hold the same number; how many depends on how fast a micro-batch travels.
//
// A micro-batch passes rank s in these slots of one unit of time, and the next follows six slots later:
//            F0      F1         I1              I0
//   V-Half   2s      3p−2−s     3p−1+k+2s       6p−2+k−s      k = 3 if p is even, else 0
//   V-Min    s       2p−1−s     2p+k+s          4p−1+k−s      k = 2 if p is divisible by 3, else 0
// F0 and I1, which travel down, take two slots per hop in V-Half and one in V-Min; F1 and I0 take one in both. k keeps
// the four apart modulo six. Weight gradients take the two remaining slots of six.
//
// The repeated pattern has gaps at its ends. They are closed in two passes that never hold more than the pattern does:
// first warm-up and cool-down, with weight gradients where the pattern has them, then the cool-down again, as if each
// empty slot ran one. The order is generated for ops that all take one unit and does not depend on times.
//
// V-1F1B, with whole backwards, holds about two thirds of the activations of 1F1B on its first rank. A micro-batch's
// forwards take one slot per rank, down the V and up again, and its backwards two slots per rank. Where two hops of
// backwards would meet the forwards of another micro-batch, six slots apart, they pause: three slots after every third
// hop, counted so that ranks at the tips of the V need no pause, and three before the first backward if p is divisible
// by 3. The repeated pattern leaves no slot empty. Its ends are closed, and everything after them moves up, never
// holding more activations than the pattern does. The order does not depend on times; it is generated for t_b = 2·t_f.

#include "core/families/families.h"
#include "core/families/slot_table.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

namespace bubblescope {
namespace {

std::vector<SlotTable::Block> halfOrMinBlocks(bool half, int p) {
    const int k = half ? (p % 2 == 0 ? 3 : 0) : (p % 3 == 0 ? 2 : 0);
    std::vector<SlotTable::Block> blocks;
    for (int s = 0; s < p; ++s) {
        blocks.push_back(half ? SlotTable::Block{2 * s, 3 * p - 2 - s, 3 * p - 1 + k + 2 * s, 6 * p - 2 + k - s}
                              : SlotTable::Block{s, 2 * p - 1 - s, 2 * p + k + s, 4 * p - 1 + k - s});
    }
    return blocks;
}

Result<Schedule> generateHalfOrMin(const ScheduleSpec& spec) {
    if (spec.vpp != 2) {
        return usageError(fmt::format("{} has 2 chunks per rank, not {}", spec.name, spec.vpp),
                          fmt::format("specify {}", Field("vpp").is(2)));
    }
    SlotTable table(halfOrMinBlocks(spec.name == "v-half", spec.pp), spec.microbatches);
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

std::vector<SlotTable::Block> v1F1BBlocks(int p) {
    std::vector<SlotTable::Block> blocks(static_cast<std::size_t>(p));
    int slot = 0;
    for (int s = 0; s < p; ++s)
        blocks[Rank{s}.index()][0] = slot++;
    for (int s = p; s-- > 0;)
        blocks[Rank{s}.index()][1] = slot++;
    if (p % 3 == 0) slot += 3;
    int hops = 2 * (p - 1) % 3; // since the last pause
    const auto backward = [&](int s, std::size_t pass) {
        blocks[Rank{s}.index()][pass] = slot;
        slot += 2;
        if (++hops % 3 == 0) slot += 3;
    };
    for (int s = 0; s < p; ++s)
        backward(s, 2);
    for (int s = p; s-- > 0;)
        backward(s, 3);
    return blocks;
}

Result<Schedule> generateV1F1B(const ScheduleSpec& spec) {
    if (spec.vpp != 2)
        return usageError(fmt::format("v-1f1b has 2 chunks per rank, not {}", spec.vpp),
                          fmt::format("specify {}", Field("vpp").is(2)));
    SlotTable table(v1F1BBlocks(spec.pp), spec.microbatches, 2);
    table.moveUp(SlotTable::Extent::All);
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.ranks = table.wholeOrder();
    return schedule;
}

} // namespace

ScheduleFamily vHalfFamily() {
    return {.name = "v-half",
            .title = "V-Half",
            .placement = Placement::V,
            .limits = "m ≥ 1, v = 2",
            .generate = generateHalfOrMin};
}

ScheduleFamily vMinFamily() {
    return {.name = "v-min",
            .title = "V-Min",
            .placement = Placement::V,
            .limits = "m ≥ 1, v = 2",
            .generate = generateHalfOrMin};
}

ScheduleFamily v1F1BFamily() {
    return {.name = "v-1f1b",
            .title = "V-1F1B",
            .placement = Placement::V,
            .limits = "m ≥ 1, v = 2",
            .generate = generateV1F1B};
}

} // namespace bubblescope
