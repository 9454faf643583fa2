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
//
// Closed forms, for t_f = t_i = t_w = t. In the steady state no rank is idle, so the bubble is what a micro-batch's
// way through all ranks leaves of the ends, whatever m is once there is a steady state. Fitted to simulation and
// compared with it for p ≤ 34 (V-Half 6·⌊(p−1)/2⌋−1, but 1 for p = 2; V-Min 4p−5, and 4p−7 if 3 divides p). For
// other times ranks wait in the steady state too: no form is known, and V-Min's bubble then grows with m. All
// ranks hold equally much, 2·⌊(p+2)/2⌋ (V-Half) or 2·⌊(p+4)/3⌋ (V-Min), the pattern's peak; in V-Min the first
// rank holds one less if p mod 3 = 2.

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/schedule/families/slot_table.h"
#include "core/theory/form_builder.h"
#include "core/theory/zero_bubble_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
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

Status requireEqualTimes(const Schedule& schedule, const OpTimes& t, int least) {
    if (t.forward != t.input_grad || t.input_grad != t.weight_grad) {
        return usageError(fmt::format("{}'s form holds for t_f = t_i = t_w", schedule.name),
                          "give such times, or use `bubblescope simulate`");
    }
    if (schedule.microbatches < least) {
        return usageError(
            fmt::format("{}'s form holds for {} or more micro-batches on {} ranks", schedule.name, least, schedule.pp),
            "give more micro-batches, or use `bubblescope simulate`");
    }
    return {};
}

ClosedForm unitsForm(const Schedule& schedule, const CostModel& costs, int units, const std::string& bubble,
                     std::string domain) {
    return makespanForm(schedule, costs, (6LL * schedule.microbatches + units) * costs.times.forward, bubble,
                        "6·m·t_f + " + bubble, std::move(domain));
}

Result<ClosedForm> vHalfForm(const Schedule& schedule, const CostModel& costs) {
    const int p = schedule.pp;
    BUBBLESCOPE_TRY(requireEqualTimes(schedule, costs.times, p + 2));
    const int units = p <= 2 ? p - 1 : 6 * ((p - 1) / 2) - 1;
    return unitsForm(schedule, costs, units, p <= 2 ? "(p−1)·t_f" : "(6·⌊(p−1)/2⌋−1)·t_f",
                     "m ≥ p+2, t_f = t_i = t_w (of one chunk); equal stages, transfers free");
}

Result<ClosedForm> vMinForm(const Schedule& schedule, const CostModel& costs) {
    const int p = schedule.pp;
    BUBBLESCOPE_TRY(requireEqualTimes(schedule, costs.times, p + 1));
    const int units = p == 1 ? 0 : 4 * p - (p % 3 == 0 ? 7 : 5);
    return unitsForm(schedule, costs, units, p == 1 ? "0" : "(4·p−5−2·[3|p])·t_f",
                     "m ≥ p+1, t_f = t_i = t_w (of one chunk); equal stages, transfers free; [3|p] is 1 if 3 divides "
                     "p, else 0");
}

FormKind peakKind(const Schedule& schedule, int least) {
    return schedule.microbatches >= least ? FormKind::Exact : FormKind::UpperBound;
}

PeakForm vHalfPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int most = std::min(2 * schedule.microbatches, 2 * ((p + 2) / 2));
    return peakForm(
        schedule, "min(2·m, 2·⌊(p+2)/2⌋)", "every m; exact for m ≥ p+2", [&](int) { return most; },
        peakKind(schedule, p + 2));
}

PeakForm vMinPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const bool less = p % 3 == 2;
    return peakForm(
        schedule, less ? "min(2·m, 2·⌊(p+4)/3⌋), on the first rank min(2·m, 2·⌊(p+4)/3⌋−1)" : "min(2·m, 2·⌊(p+4)/3⌋)",
        "every m; exact for m ≥ p",
        [&](int s) { return std::min(2 * m, 2 * ((p + 4) / 3) - (less && s == 0 ? 1 : 0)); }, peakKind(schedule, p));
}

} // namespace

ScheduleFamily vHalfFamily() {
    return {"v-half", "V-Half",  {},         {},      Placement::V, "m ≥ 1, v = 2",
            generate, vHalfForm, vHalfPeaks, nullptr, vHalfQuotes};
}

ScheduleFamily vMinFamily() {
    return {"v-min", "V-Min", {}, {}, Placement::V, "m ≥ 1, v = 2", generate, vMinForm, vMinPeaks, nullptr, vMinQuotes};
}

} // namespace bubblescope
