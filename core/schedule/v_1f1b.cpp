// V-1F1B: two chunks a rank along a V, as in V-Half, but with whole backwards: about two thirds of what 1F1B
// holds on its first rank.
//
// A micro-batch's forwards hop from rank to rank in one slot, down the V and up again, and its backwards, of
// two slots each, likewise in two. Where two hops of backwards would meet the forwards of another micro-batch,
// which follow six slots apart, they pause: three slots after every third hop, counted so that ranks at the
// tips of the V need none, and three before the first backward if p is divisible by 3. The repeated pattern
// leaves no slot empty. Its ends are moved together and with them everything after, never holding more
// activations than the pattern does. The order is the same for all times of ops; it is made for t_b = 2·t_f.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"
#include "core/schedule/slot_table.h"

#include <fmt/format.h>

#include <utility>

namespace bubblescope {
namespace {

std::vector<SlotTable::Block> blocksOf(int p) {
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

Result<Schedule> generate(const ScheduleSpec& spec) {
    if (spec.vpp != 2) return usageError(fmt::format("v-1f1b has 2 chunks a rank, not {}", spec.vpp), "give --vpp 2");
    SlotTable table(blocksOf(spec.pp), spec.microbatches, 2);
    table.moveUp(SlotTable::Extent::All);
    Schedule schedule = emptySchedule(spec, Placement::V);
    schedule.ranks = table.wholeOrder();
    return schedule;
}

} // namespace

ScheduleFamily v1F1BFamily() {
    return {"v-1f1b", "V-1F1B", {}, {}, Placement::V, "m ≥ 1, v = 2", generate, nullptr};
}

} // namespace bubblescope
