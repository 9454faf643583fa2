// Closed forms of Chimera (Li and Hoefler 2021) and BitPipe (Wu et al., 2024), in op times of one chunk.
//
// Rank s and its mirror image do the same, so let s be the smaller of the two and h = p/2−1−s the number of ranks
// between it and the middle. Counted in slots, a rank idles where the diamond leaves gaps: s before its first op and h
// in its warm-up, each as long as a forward; h in its cool-down and s after its last op, each as long as a backward. On
// the outermost ranks of Chimera, which turn around at once, those of the warm-up lie directly before the first
// backward and those of the cool-down directly after the last forward.
//
// With t_f ≠ t_b, forwards of one pipeline meet backwards of the other: a rank that runs the shorter kind waits
// |t_b−t_f| for one that runs the longer. On the way into or out of the diamond's middle that happens s times at one
// end of the steady part and h times at the other; which end depends on which kind is longer. Where two blocks meet,
// backwards of one alternate with forwards of the next on the outer ranks, while the inner ranks have only one kind:
// each of the m/p−1 seams costs every rank (p−2)·|t_b−t_f| in its steady part.
//
// Together these are (p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|).
//
// With transfers that take c, a block's way down and up costs 2c for each border and pass, p−1 borders and v/2 passes,
// and p−3 times c where the two directions meet in the middle. A seam costs as much on p−2 of the borders in Chimera,
// and 4p−5 times c in BitPipe. At a seam ranks also wait for |t_b−t_f|, which hides the end of a transfer: only the
// part of c that exceeds (p/2−1) of those waits in Chimera, p−2 in BitPipe, lengthens the step. These terms were found
// by comparison with simulation and hold for every size, time and c that was tried; the positions of the gaps are not
// known.

#include "core/theory/forms/family_theory.h"

#include "core/families/families.h"
#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

Result<ClosedForm> chimeraForm(const Schedule& schedule, const CostModel& costs) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    BUBBLESCOPE_TRY(checkChimera(schedule.name, p, m));
    const TimeNs forward = costs.times.forward;
    const TimeNs backward = costs.times.backward;
    const bool long_backward = backward > forward;
    const TimeNs apart = long_backward ? backward - forward : forward - backward;
    const std::string gap = long_backward ? "(t_b−t_f)" : "(t_f−t_b)";
    const std::string note = ", d = min(s, p−s−1), h = p/2−1−d";
    FormBuilder form(schedule, costs,
                     fmt::format("p even, m divisible by p, {} (per chunk); equal stages, transfers free",
                                 long_backward ? "t_b > t_f" : "t_b ≤ t_f"));
    for (int s = 0; s < p; ++s) {
        const int outer = std::min(s, p - 1 - s);
        const int inner = p / 2 - 1 - outer;
        const TimeNs before = (long_backward ? outer : inner) * apart;
        const TimeNs behind = (long_backward ? inner : outer) * apart;
        const std::string before_text = (long_backward ? "d·" : "h·") + gap;
        const std::string behind_text = (long_backward ? "h·" : "d·") + gap;
        std::vector<PositionTerm> terms{
            {Position::BeforeWarmup, "d·t_f" + note, outer * forward},
            {Position::InsideSteady, "(m/p−1)·(p−2)·" + gap, std::int64_t{m / p - 1} * (p - 2) * apart},
            {Position::AfterCooldown, "d·t_b" + note, outer * backward}};
        if (schedule.vpp == 2 && outer == 0) {
            terms.push_back({Position::WarmupToSteady, "h·t_f + " + before_text + note, inner * forward + before});
            terms.push_back({Position::SteadyToCooldown, "h·t_b + " + behind_text + note, inner * backward + behind});
        } else {
            terms.push_back({Position::InsideWarmup, "h·t_f" + note, inner * forward});
            terms.push_back({Position::WarmupToSteady, before_text + note, before});
            terms.push_back({Position::SteadyToCooldown, behind_text + note, behind});
            terms.push_back({Position::InsideCooldown, "h·t_b" + note, inner * backward});
        }
        form.addRank(s, std::move(terms));
    }
    return form.finish("(p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|)",
                       "m·v/2·(t_f+t_b) + (p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|)");
}

Result<ClosedForm> chimeraGeneralForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    BUBBLESCOPE_TRY(checkChimera(schedule.name, schedule.pp, schedule.microbatches));
    const OpTimes& t = costs.times;
    const TimeNs c = costs.comm;
    const TimeNs none{0};
    const bool one_pass = schedule.vpp == 2;
    const TimeNs longer = std::max(t.forward, t.backward);
    const TimeNs apart = longer - std::min(t.forward, t.backward);
    const TimeNs block = (2 * (p - 1) * (schedule.vpp / 2) + std::max<std::int64_t>(0, p - 3)) * c;
    const TimeNs seam = one_pass ? 2 * (p - 2) * c + std::max(none, 2 * c - (p - 2) * apart)
                                 : (4 * p - 5) * c + std::max(none, c - (p - 2) * apart);
    const TimeNs bubble = (p - 2) * longer + block + (m / p - 1) * ((p - 2) * apart + seam);
    const std::string text =
        fmt::format("(p−2)·max(t_f, t_b) + ({}·(p−1)+max(0, p−3))·c + (m/p−1)·((p−2)·|t_b−t_f| + {})", schedule.vpp,
                    one_pass ? "2·(p−2)·c + max(0, 2·c−(p−2)·|t_b−t_f|)" : "(4·p−5)·c + max(0, c−(p−2)·|t_b−t_f|)");
    return makespanForm(schedule, costs, m * schedule.vpp / 2 * (t.forward + t.backward) + bubble, text,
                        "m·v/2·(t_f+t_b) + " + text,
                        "p even, m divisible by p, any t_f, t_b (per chunk) and c; equal stages");
}

PeakForm chimeraPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int least = (schedule.vpp - 1) * p / 2 + 1;
    return peakForm(schedule, schedule.vpp == 2 ? "p/2 + 1 + min(s, p−s−1)" : "3·p/2 + 1 + min(s, p−s−1)",
                    "m divisible by p", [=](int s) { return least + std::min(s, p - 1 - s); });
}

/// The bubble rate (p−2)/(units·m+p−2) of a two-way pipeline in which each rank runs `units`·m ops and fills p−2; right
/// if the closed form gives the same rate.
QuotedForm twoWayQuote(const Schedule& schedule, const CostModel& costs, double units, QuoteText text) {
    const double p = schedule.pp;
    const double m = schedule.microbatches;
    const OpTimes& t = costs.times;
    const auto [shorter, longer] = std::minmax(t.forward, t.backward);
    const TimeNs idle = longer + (schedule.microbatches / schedule.pp - 1) * (longer - shorter);
    // The closed form gives (p−2)·idle over m·v/2·(t_f+t_b), the quoted form (p−2) over units·m.
    const double work = m * schedule.vpp / 2 * static_cast<double>((t.forward + t.backward).count());
    const bool same = static_cast<double>(idle.count()) * units * m == work;
    return ratioQuote(Quantity::BubbleRate, std::move(text), (p - 2) / (units * m + p - 2), schedule.pp == 2 || same);
}

std::vector<QuotedForm> chimeraQuotes(const Schedule& schedule, const CostModel& costs) {
    if (!freeTransfers(costs)) return {};
    return {
        twoWayQuote(schedule, costs, 2,
                    {"Chimera", "Chimera paper", "(p−2)/(2·m+p−2)",
                     "It assumes t_f = t_b. In general the bubble is (p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|)."}),
        twoWayQuote(schedule, costs, 1.5,
                    {"Chimera, long backward", "Chimera paper", "(p−2)/(1.5·m+p−2)",
                     "It assumes t_b = 2·t_f and m = p. Each further block of p micro-batches adds (p−2)·|t_b−t_f|."})};
}

std::vector<QuotedForm> bitPipeQuotes(const Schedule& schedule, const CostModel& costs) {
    if (!freeTransfers(costs)) return {};
    return {twoWayQuote(schedule, costs, 4,
                        {"BitPipe", "BitPipe paper", "(p−2)/(4·m+p−2)",
                         "It assumes t_f = t_b. In general the bubble is (p−2)·(max(t_f, t_b) + (m/p−1)·|t_b−t_f|) in "
                         "times of a chunk."})};
}

} // namespace

FamilyTheory chimeraTheory() {
    return {.family = "chimera",
            .closed_form = chimeraForm,
            .peak_form = chimeraPeaks,
            .general_form = chimeraGeneralForm,
            .quoted_forms = chimeraQuotes};
}

FamilyTheory bitPipeTheory() {
    return {.family = "bitpipe",
            .closed_form = chimeraForm,
            .peak_form = chimeraPeaks,
            .general_form = chimeraGeneralForm,
            .quoted_forms = bitPipeQuotes};
}

} // namespace bubblescope
