// Closed forms of 1F1B and of the orders that alternate one forward and one backward as it does.
//
// 1F1B (Narayanan et al., 2019, Fan et al. 2021), on the consolidated timeline, where the steady part of each rank is
// contiguous. Let X(s) be the bubble before it. The first backward of rank s needs that of rank s+1, which ends t_b
// after rank s+1 could start it: X(s) ≥ X(s+1) + t_b. The forwards of rank s+1 need those of rank s, which allows no
// more than X(s) ≤ X(s+1) + t_b once the steady part is contiguous. X(p−1) = 0, so X(s) = (p−s−1)·t_b. The rank's
// total is (p−1)(t_f+t_b): s·t_f of it lie before its first forward and s·t_b after its last backward, as in F-then-B.
// The
// remaining (p−s−1)·t_f lie between the steady part and cool-down. (The two are sometimes drawn the other way round;
// that contradicts the dependencies whenever t_f ≠ t_b.) As executed, without consolidation, the remainder is p−s−1
// single gaps of t_f in front of the cool-down backwards.
//
// A rank with m ≤ p−s has all forwards before all backwards and no steady part; its two middle bubbles are one.
//
// With latency c the step takes (p−1)·2·c more for filling and draining, and 2·c for each border that it passes while
// it turns between forward and backward (latency.h). Steady parts are then no longer contiguous, and only the outer
// positions are given.
//
// Unequal stages, t_i = t_f+t_b of stage i. One micro-batch passes all stages down and up, which takes Σt. Rank s needs
// m·t_s after the forwards and before the backwards of the stages above it. In general only these bounds are known.
// Where the last stage is the slowest, it never waits between its first op and its last: the ranks above it deliver a
// forward at least every t_last. Then the second bound, with s = p−1, is attained.
//
// Eager 1F1B. The argument of 1F1B needs only that a rank's forwards are never late, and here they are earlier. The
// middle bubble can then be split in more than one way; the forms give the split of 1F1B, which stays possible. With
// latency c a turn from forward to backward has two micro-batches of work for each border instead of one. It costs
// nothing while 2·c ≤ t_f+t_b, and beyond that 2·c − (t_f+t_b) for each border passed (latency.h).
//
// VPP in balanced memory, with t_f and t_b of one chunk. The v−1 chunks of warm-up run without a gap, since m ≥ p
// micro-batches keep a rank busy until the first one returns. The rest is 1F1B on the last chunk, with its
// positions; the cool-down mirrors the warm-up. Latency makes the wraps between chunks wait where m micro-batches are
// too few to hide the loop, and the 1F1B of the last chunk loses at its turns as 1F1B does (latency.h).

#include "core/theory/forms/family_theory.h"

#include "core/theory/forms/form_builder.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

Result<ClosedForm> unequal1F1BForm(const Schedule& schedule, const CostModel& costs) {
    const std::int64_t m = schedule.microbatches;
    TimeNs before{0};
    TimeNs bound{0};
    TimeNs longest{0};
    for (const OpTimes& stage : costs.stages) {
        const TimeNs t = stage.forward + stage.backward;
        bound = std::max(bound, before + m * t);
        longest = std::max(longest, t);
        before += t;
    }
    const TimeNs last = costs.stages.back().forward + costs.stages.back().backward;
    if (last == longest && freeTransfers(costs)) {
        ClosedForm form = makespanForm(schedule, costs, before + (m - 1) * last, "Σt + (m−1)·t_last − m·t of the rank",
                                       "Σt + (m−1)·t_last, t = t_f+t_b",
                                       "any m, the last stage's t_f+t_b the largest; transfers free");
        return withSpan(std::move(form), form.bubble.front(), form.makespan - form.bubble.front());
    }
    ClosedForm form =
        makespanForm(schedule, costs, std::max(before, bound), "the bound − m·t of the rank",
                     "max(Σt, max_s(Σ_{i<s} t_i + m·t_s)), t = t_f+t_b", "any m, any times per stage, any c");
    form.kind = FormKind::LowerBound;
    form.note = "on unequal stages 1f1b has an exact form only if transfers are free and the last stage is the slowest";
    return form;
}

Result<ClosedForm> oneFOneBForm(const Schedule& schedule, const CostModel& costs) {
    if (encodersOf(schedule.placement).ranks() > 0) return encoderForm(schedule, costs);
    if (!costs.stages.empty()) return unequal1F1BForm(schedule, costs);
    FormBuilder form(schedule, costs,
                     freeTransfers(costs) ? "any m, any t_f and t_b, c = 0; equal stages"
                                          : "any m, any t_f, t_b and c; equal stages");
    const TimeNs turning = turningLoss(schedule.pp, schedule.microbatches, 1, costs);
    if (freeTransfers(costs)) return form.addFillAndDrain().finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)");
    const TimeNs fill = (schedule.pp - 1) * (costs.times.forward + costs.times.backward + 2 * costs.comm);
    return form.addEnds()
        .withTotal(fill + turning)
        .finish("(p−1)·(t_f+t_b) + 2·c·(p−1 + ⌊(m−1)·(p−1)/p⌋)", "(m+p−1)·(t_f+t_b) + 2·c·(p−1 + ⌊(m−1)·(p−1)/p⌋)");
}

PeakForm oneFOneBPeaks(const Schedule& schedule) {
    const int length = pathLength(schedule.placement, schedule.pp);
    const bool encoders = encodersOf(schedule.placement).ranks() > 0;
    return peakForm(schedule, encoders ? "min(m, P−d)" : "min(m, p−s)", "any p and m",
                    [&](int s) { return std::min(schedule.microbatches, length - pathPlace(schedule.placement, s)); });
}

/// The split of the middle bubble in Zheng 2024, where some rank has a steady part.
std::vector<QuotedForm> splitQuotes(const Schedule& schedule, const OpTimes& t) {
    if (schedule.pp < 2 || schedule.microbatches < 3) return {};
    const auto below = [&](TimeNs op) { // ranks without a steady part have neither position
        return [&schedule, op](int s) {
            const int left = schedule.pp - s - 1;
            return schedule.microbatches > left + 1 ? left * op : TimeNs{0};
        };
    };
    const std::string swapped =
        "It swaps the two middle bubbles, which contradicts the dependencies unless t_f = t_b. Correct are (p−s−1)·t_b "
        "before the steady part and (p−s−1)·t_f after it; the total is the same.";
    const bool alike = t.forward == t.backward;
    return {
        positionQuote(schedule, {"inner split of 1F1B, before the steady part", "Zheng 2024", "(p−s−1)·t_f", swapped},
                      Position::WarmupToSteady, below(t.forward), alike),
        positionQuote(schedule, {"inner split of 1F1B, after the steady part", "Zheng 2024", "(p−s−1)·t_b", swapped},
                      Position::SteadyToCooldown, below(t.backward), alike)};
}

std::vector<QuotedForm> oneFOneBQuotes(const Schedule& schedule, const CostModel& costs) {
    if (encodersOf(schedule.placement).ranks() > 0) return {};
    const int p = schedule.pp;
    const OpTimes& t = costs.times;
    const bool free = freeTransfers(costs);
    auto list = free ? splitQuotes(schedule, t) : std::vector<QuotedForm>{};
    list.push_back(
        bubbleQuote(schedule,
                    {"1F1B changes memory, not time", "Zheng 2024", "(p−1)·(t_f+t_b+2·c), as F-then-B",
                     "It holds if transfers are free. With latency c, 1F1B is slower than F-then-B by "
                     "2·c·⌊(m−1)·(p−1)/p⌋, since every turn from forward to backward waits for a round trip."},
                    (p - 1) * (t.forward + t.backward + 2 * costs.comm),
                    turningLoss(p, schedule.microbatches, 1, costs).count() == 0));
    list.push_back(overIdealQuote(schedule, costs, 1));
    return list;
}

Result<ClosedForm> eager1F1BForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    FormBuilder form(schedule, costs,
                     freeTransfers(costs) ? "any m, any t_f and t_b, c = 0; equal stages"
                                          : "any m, any t_f, t_b and c; equal stages");
    if (freeTransfers(costs)) return form.addFillAndDrain().finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)");
    const TimeNs both = costs.times.forward + costs.times.backward;
    const TimeNs turning = turningLoss(schedule.pp, schedule.microbatches, 2, costs);
    form.addEnds().withTotal((schedule.pp - 1) * (both + 2 * costs.comm) + turning);
    if (2 * costs.comm <= both) return form.finish("(p−1)·(t_f+t_b+2·c)", "(m+p−1)·(t_f+t_b) + 2·(p−1)·c");
    return form.finish("(p−1)·(t_f+t_b+2·c) + (2·c−t_f−t_b)·⌊(m−1)·(p−1)/(2·p−1)⌋",
                       "(m+p−1)·(t_f+t_b) + 2·(p−1)·c + (2·c−t_f−t_b)·⌊(m−1)·(p−1)/(2·p−1)⌋");
}

PeakForm eager1F1BPeaks(const Schedule& schedule) {
    return peakForm(schedule, "min(m, 2·(p−s)−1)", "any p and m",
                    [&](int s) { return std::min(schedule.microbatches, 2 * (schedule.pp - s) - 1); });
}

Result<ClosedForm> vppBalancedMemoryForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    FormBuilder form(schedule, costs, "p ≤ m < 2p, any t_f, t_b and c (per chunk); equal stages");
    if (freeTransfers(costs)) return form.addFillAndDrain().finish("(p−1)·(t_f+t_b)", "(m·v+p−1)·(t_f+t_b)");
    const TimeNs fill = (schedule.pp - 1) * (costs.times.forward + costs.times.backward + 2 * costs.comm);
    const TimeNs turning = turningLoss(schedule.pp, schedule.microbatches, 1, costs);
    const TimeNs wraps = wrapLoss(schedule.pp, schedule.vpp, schedule.microbatches, costs).both();
    const std::string bubble = "(p−1)·(t_f+t_b) + 2·c·(p−1 + ⌊(m−1)·(p−1)/p⌋) + "
                               "(v−1)·(max(0, p·(t_f+c)−m·t_f) + max(0, p·(t_b+c)−m·t_b))";
    return form.addEnds().withTotal(fill + turning + wraps).finish(bubble, "m·v·(t_f+t_b) + " + bubble);
}

PeakForm vppBalancedMemoryPeaks(const Schedule& schedule) {
    const int whole = schedule.microbatches * (schedule.vpp - 1);
    return peakForm(schedule, "m·(v−1) + p−s", "p ≤ m < 2p", [&](int s) { return whole + schedule.pp - s; });
}

} // namespace

FamilyTheory oneFOneBTheory() {
    return {.family = "1f1b",
            .closed_form = oneFOneBForm,
            .peak_form = oneFOneBPeaks,
            .general_form = oneFOneBForm,
            .quoted_forms = oneFOneBQuotes};
}

FamilyTheory eager1F1BTheory() {
    return {.family = "eager-1f1b",
            .closed_form = eager1F1BForm,
            .peak_form = eager1F1BPeaks,
            .general_form = eager1F1BForm};
}

FamilyTheory vppBalancedMemoryTheory() {
    return {.family = "vpp-balanced-memory",
            .closed_form = vppBalancedMemoryForm,
            .peak_form = vppBalancedMemoryPeaks,
            .general_form = vppBalancedMemoryForm};
}

} // namespace bubblescope
