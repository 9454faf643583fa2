// V-1F1B: two chunks a rank along a V, as in V-Half, but with whole backwards: about two thirds of what 1F1B
// holds on its first rank.
//
// A micro-batch's forwards hop from rank to rank in one slot, down the V and up again, and its backwards, of
// two slots each, likewise in two. Where two hops of backwards would meet the forwards of another micro-batch,
// which follow six slots apart, they pause: three slots after every third hop, counted so that ranks at the
// tips of the V need none, and three before the first backward if p is divisible by 3. The repeated pattern
// leaves no slot empty. Its ends are moved together and with them everything after, never holding more
// activations than the pattern does. The order is the same for all times of ops; it is made for t_b = 2·t_f.
//
// Closed form, for t_b = 2·t_f. While all micro-batches fit, m ≤ ⌊2p/3⌋+1, the last of them is followed down and
// up the V, 6p slots from its first forward to its last backward, and it started four slots behind its
// predecessors: (6p−4−2m)·t_f of the step are bubble. With more the pauses take part; by simulation for p ≤ 34 the
// bubble is 5(p−1)·t_f if p mod 3 = 1 and (5p−7)·t_f if p mod 3 = 2 (p ≥ 5), from then on independent of m. If 3
// divides p it is (5p−9)·t_f or (5p−8)·t_f, the larger from some m on. Peaks are the pattern's, 2·(⌊2p/3⌋+1) on
// every rank.

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/schedule/families/slot_table.h"
#include "core/theory/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

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

/// How many micro-batches the ranks can hold.
int heldAtMost(int p) {
    return 2 * p / 3 + 1;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    if (t.backward != 2 * t.forward) {
        return usageError("v-1f1b's form holds for t_b = 2·t_f", "give such times, or use `bubblescope simulate`");
    }
    const auto form = [&](std::int64_t units, const std::string& bubble, const std::string& where) {
        return makespanForm(schedule, costs, (6 * m + units) * t.forward, bubble, "6·m·t_f + " + bubble,
                            where + ", t_b = 2·t_f (of one chunk); equal stages, transfers free");
    };
    if (m <= heldAtMost(schedule.pp)) return form(6 * p - 4 - 2 * m, "(6·p−4−2·m)·t_f", "m ≤ ⌊2·p/3⌋+1");
    if (p <= 3) return form(6 * p - 4 - 2 * heldAtMost(schedule.pp), "(6·p−6−2·⌊2·p/3⌋)·t_f", "p ≤ 3, m > ⌊2·p/3⌋");
    if (p % 3 != 0) {
        return form(5 * p - (p % 3 == 1 ? 5 : 7), "(5·p−5−2·[p mod 3 = 2])·t_f",
                    "m > ⌊2·p/3⌋+1, 3 does not divide p, [p mod 3 = 2] is 1 where so, else 0");
    }
    ClosedForm bound = form(5 * p - 8, "(5·p−8)·t_f", "3 divides p, m > ⌊2·p/3⌋+1 (by t_f at most)");
    bound.kind = FormKind::UpperBound;
    return bound;
}

PeakForm peaks(const Schedule& schedule) {
    const int most = 2 * std::min(schedule.microbatches, heldAtMost(schedule.pp));
    return peakForm(
        schedule, "2·min(m, ⌊2·p/3⌋+1)", "every m; exact for m ≥ 2·p", [&](int) { return most; },
        schedule.microbatches >= 2 * schedule.pp ? FormKind::Exact : FormKind::UpperBound);
}

} // namespace

ScheduleFamily v1F1BFamily() {
    return {"v-1f1b", "V-1F1B", {}, {}, Placement::V, "m ≥ 1, v = 2", generate, familyForm, peaks};
}

} // namespace bubblescope
