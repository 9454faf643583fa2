// Closed forms of V-Half, V-Min (Qi et al., 2024) and V-1F1B.
//
// V-Half and V-Min, for t_f = t_i = t_w = t. In the steady state no rank is idle, so the bubble comes from the ends,
// where a micro-batch passes all ranks, and does not depend on m once there is a steady state. The forms were fitted to
// simulation and compared with it for p ≤ 34 (V-Half 6·⌊(p−1)/2⌋−1, but 1 for p = 2; V-Min 4p−5, and 4p−7 if 3 divides
// p). For other times ranks wait in the steady state too: no form is known, and V-Min's bubble then grows with m. All
// ranks hold the same number of activations, 2·⌊(p+2)/2⌋ (V-Half) or 2·⌊(p+4)/3⌋ (V-Min), the pattern's peak; in V-Min
// the first rank holds one less if p mod 3 = 2.
//
// V-1F1B, for t_b = 2·t_f. While all micro-batches fit, m ≤ ⌊2p/3⌋+1, the last of them passes down and up the V in 6p
// slots from its first forward to its last backward, and it started four slots behind its predecessors:
// (6p−4−2m)·t_f of the step are bubble. With more micro-batches the pauses matter. By simulation for p ≤ 34 the bubble
// is 5(p−1)·t_f if p mod 3 = 1 and (5p−7)·t_f if p mod 3 = 2 (p ≥ 5), from then on independent of m. If 3 divides p it
// is (5p−9)·t_f or (5p−8)·t_f, the larger from some m on. Peaks are the pattern's, 2·(⌊2p/3⌋+1) on every rank.

#include "core/theory/forms/family_theory.h"

#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// Idle ops of V-Half's longest rank, in units of t_f = t_i = t_w.
int vHalfUnits(int p) {
    return p <= 2 ? p - 1 : 6 * ((p - 1) / 2) - 1;
}

/// As above, for V-Min.
int vMinUnits(int p) {
    return p == 1 ? 0 : 4 * p - (p % 3 == 0 ? 7 : 5);
}

Status requireEqualTimes(const Schedule& schedule, const OpTimes& t, int least) {
    if (!equalTimes(t)) {
        return usageError(fmt::format("{}'s closed form holds only for t_f = t_i = t_w", schedule.name),
                          "use times that meet one of these conditions, or use `bubblescope simulate`");
    }
    if (schedule.microbatches < least) {
        return usageError(fmt::format("{}'s closed form holds only for {} or more micro-batches on {} ranks",
                                      schedule.name, least, schedule.pp),
                          "use more micro-batches, or use `bubblescope simulate`");
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
    return unitsForm(schedule, costs, vHalfUnits(p), p <= 2 ? "(p−1)·t_f" : "(6·⌊(p−1)/2⌋−1)·t_f",
                     "m ≥ p+2, t_f = t_i = t_w (per chunk); equal stages, transfers free");
}

Result<ClosedForm> vMinForm(const Schedule& schedule, const CostModel& costs) {
    const int p = schedule.pp;
    BUBBLESCOPE_TRY(requireEqualTimes(schedule, costs.times, p + 1));
    return unitsForm(schedule, costs, vMinUnits(p), p == 1 ? "0" : "(4·p−5−2·[3|p])·t_f",
                     "m ≥ p+1, t_f = t_i = t_w (per chunk); equal stages, transfers free; [3|p] is 1 if 3 divides "
                     "p, else 0");
}

FormKind peakKind(const Schedule& schedule, int least) {
    return schedule.microbatches >= least ? FormKind::Exact : FormKind::UpperBound;
}

PeakForm vHalfPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int most = std::min(2 * schedule.microbatches, 2 * ((p + 2) / 2));
    return peakForm(
        schedule, "min(2·m, 2·⌊(p+2)/2⌋)", "any m; exact for m ≥ p+2", [&](int) { return most; },
        peakKind(schedule, p + 2));
}

PeakForm vMinPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const bool less = p % 3 == 2;
    return peakForm(
        schedule, less ? "min(2·m, 2·⌊(p+4)/3⌋), on the first rank min(2·m, 2·⌊(p+4)/3⌋−1)" : "min(2·m, 2·⌊(p+4)/3⌋)",
        "any m; exact for m ≥ p", [&](int s) { return std::min(2 * m, 2 * ((p + 4) / 3) - (less && s == 0 ? 1 : 0)); },
        peakKind(schedule, p));
}

std::vector<QuotedForm> vHalfQuotes(const Schedule& schedule, const CostModel& costs) {
    if (!freeTransfers(costs) || !equalTimes(costs.times) || schedule.microbatches < schedule.pp + 2) return {};
    return {sailSgFractionQuote(schedule, 3, vHalfUnits(schedule.pp), "V-Half", "B/2, B = (p−1)/(m+p−1)")};
}

std::vector<QuotedForm> vMinQuotes(const Schedule& schedule, const CostModel& costs) {
    if (!freeTransfers(costs) || !equalTimes(costs.times) || schedule.microbatches < schedule.pp + 2) return {};
    return {sailSgFractionQuote(schedule, 4, vMinUnits(schedule.pp), "V-Min", "2·B/3 + O(n), B = (p−1)/(m+p−1)")};
}

/// The maximum number of micro-batches that the ranks can hold.
int heldAtMost(int p) {
    return 2 * p / 3 + 1;
}

Result<ClosedForm> v1F1BForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    if (t.backward != 2 * t.forward) {
        return usageError("v-1f1b's closed form holds only for t_b = 2·t_f",
                          "use times that meet one of these conditions, or use `bubblescope simulate`");
    }
    const auto form = [&](std::int64_t units, const std::string& bubble, const std::string& where) {
        return makespanForm(schedule, costs, (6 * m + units) * t.forward, bubble, "6·m·t_f + " + bubble,
                            where + ", t_b = 2·t_f (per chunk); equal stages, transfers free");
    };
    if (m <= heldAtMost(schedule.pp)) return form(6 * p - 4 - 2 * m, "(6·p−4−2·m)·t_f", "m ≤ ⌊2·p/3⌋+1");
    if (p <= 3) return form(6 * p - 4 - 2 * heldAtMost(schedule.pp), "(6·p−6−2·⌊2·p/3⌋)·t_f", "p ≤ 3, m > ⌊2·p/3⌋");
    if (p % 3 != 0) {
        return form(5 * p - (p % 3 == 1 ? 5 : 7), "(5·p−5−2·[p mod 3 = 2])·t_f",
                    "m > ⌊2·p/3⌋+1, 3 does not divide p, [p mod 3 = 2] is 1 if true, else 0");
    }
    ClosedForm bound = form(5 * p - 8, "(5·p−8)·t_f", "3 divides p, m > ⌊2·p/3⌋+1 (at most t_f too high)");
    bound.kind = FormKind::UpperBound;
    return bound;
}

PeakForm v1F1BPeaks(const Schedule& schedule) {
    const int most = 2 * std::min(schedule.microbatches, heldAtMost(schedule.pp));
    return peakForm(
        schedule, "2·min(m, ⌊2·p/3⌋+1)", "any m; exact for m ≥ 2·p", [&](int) { return most; },
        schedule.microbatches >= 2 * schedule.pp ? FormKind::Exact : FormKind::UpperBound);
}

} // namespace

FamilyTheory vHalfTheory() {
    return {.family = "v-half", .closed_form = vHalfForm, .peak_form = vHalfPeaks, .quoted_forms = vHalfQuotes};
}

FamilyTheory vMinTheory() {
    return {.family = "v-min", .closed_form = vMinForm, .peak_form = vMinPeaks, .quoted_forms = vMinQuotes};
}

FamilyTheory v1F1BTheory() {
    return {.family = "v-1f1b", .closed_form = v1F1BForm, .peak_form = v1F1BPeaks};
}

} // namespace bubblescope
