// Closed form of STP (arXiv 2510.27257), for m ≥ 3p−1.
//
// Let a be the all-reduce that a forward and an input gradient show when they run alone; t_f and t_i contain it, and
// f = t_f−a, i = t_i−a and w = t_w are the times that remain in pairs. Every rank does 2m(f+i+w) of work plus a for
// each forward alone: 2p of them, and one more on ranks with an even number. With k = p−1, the step takes 2m(f+i+w) +
// R, where R is the longest of the chains that pass through the ends of the V:
//
// Chains that end in rank 0's column of backwards pass 2p+1 of its forwards alone: R = (2p+1)·a + max(k·i, k(2i−w),
// k(2f+2i−3w), (k−1)·w). If input gradients are slow, each border is crossed by one, or by two of which a weight
// gradient hides a part. If weight gradients are short, the forwards of the warm-up delay the first rounds too: f−w per
// border and pass. Chains through the inner ranks pass the single forwards there instead, p of them if p is odd, p−1
// otherwise, because ranks with an odd number pair them all: R = (3p−[p even])·a + the largest of k·f, k(3f−2w),
// k(3f+i−3w) and, for odd p, k(f+i−w). For even p the innermost rank replaces one forward by one input gradient:
// (k−1)f+i, (k−1)f+(k+1)i−k·w and (3k−1)f+(k+1)i−3k·w.
//
// These terms are the gradients of the simulated makespan, found for p ≤ 6 and compared with the simulation for p ≤ 16.
// With t_w ≤ min(f, i) only three of them matter: R = k(2f+2i−3w) + (2p+1)·a + (k−e)·max(0, f−i+a) + e·max(0, f−i), e =
// 1 if p is even, else 0. At f = i = w and a = 0 that is k·f. The authors give the pipeline's part k(f+a+i−w) and the
// all-reduces' part (2p+1)·a; together they are R for odd p if f ≤ w ≤ i ≤ f+a.
//
// Peaks. Rank s holds 3p forwards between two of its pairs, as the authors state, and one more while a pair runs. The
// last s pairs of the steady phase postpone their weight gradients: s−1 more on ranks s ≥ 2, if counted until W.

#include "core/theory/forms/family_theory.h"

#include "core/families/families.h"
#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope {
namespace {

/// Sizes and times without all-reduces.
struct StpCase {
    StpCase(const Schedule& schedule, const CostModel& costs)
        : p(schedule.pp), k(p - 1), even(p % 2 == 0 ? 1 : 0), a(costs.all_reduce), f(costs.times.forward - a),
          i(costs.times.input_grad - a), w(costs.times.weight_grad), work(2 * schedule.microbatches * (f + i + w)) {}

    [[nodiscard]] bool shortWeights() const { return w <= std::min(f, i); }

    /// R: what the step takes beyond the work of a rank.
    [[nodiscard]] TimeNs delay() const {
        const TimeNs outer = std::max({k * i, k * (2 * i - w), k * (2 * f + 2 * i - 3 * w), (k - 1) * w});
        TimeNs inner = std::max({k * f, k * (3 * f - 2 * w), k * (3 * f + i - 3 * w)});
        if (even == 0) {
            inner = std::max(inner, k * (f + i - w));
        } else {
            inner = std::max(
                {inner, (k - 1) * f + i, (k - 1) * f + (k + 1) * i - k * w, (3 * k - 1) * f + (k + 1) * i - 3 * k * w});
        }
        return std::max(outer + (2 * p + 1) * a, inner + (3 * p - even) * a);
    }

    std::int64_t p;
    std::int64_t k;
    std::int64_t even;
    TimeNs a;
    TimeNs f;
    TimeNs i;
    TimeNs w;
    TimeNs work;
};

/// R in symbols.
std::string delayText(const StpCase& x) {
    if (x.a.count() == 0) {
        if (x.shortWeights()) return "(p−1)·(2·t_f+2·t_i−3·t_w + max(0, t_f−t_i))";
        return "max(k·t_f, k·t_i, k·(2·t_i−t_w), k·(2·t_f+2·t_i−3·t_w), k·(3·t_f−2·t_w), k·(3·t_f+t_i−3·t_w), "
               "(k−1)·t_w), k = p−1";
    }
    const std::string names = ", f = t_f−t_ar, i = t_i−t_ar";
    if (x.shortWeights()) {
        return "(p−1)·(2·f+2·i−3·t_w) + (2·p+1)·t_ar + (p−1−e)·max(0, f−i+t_ar) + e·max(0, f−i)" + names +
               ", e = 1 for even p, else 0";
    }
    return std::string("max(k·i, k·(2·i−t_w), k·(2·f+2·i−3·t_w), (k−1)·t_w) + (2·p+1)·t_ar or, if larger, max(k·f, "
                       "k·(3·f−2·t_w), k·(3·f+i−3·t_w), ") +
           (x.even == 0 ? "k·(f+i−t_w)) + 3·p·t_ar"
                        : "(k−1)·f+i, (k−1)·f+(k+1)·i−k·t_w, (3·k−1)·f+(k+1)·i−3·k·t_w) + (3·p−1)·t_ar") +
           ", k = p−1" + names;
}

std::string domainText(const StpCase& x) {
    const bool hides = x.a.count() > 0;
    std::string times = "any t_f, t_i and t_w";
    if (x.shortWeights()) times = hides ? "t_w ≤ min(f, i)" : "t_w ≤ min(t_f, t_i)";
    const std::string_view parity = x.even == 0 ? ", p odd" : ", p even";
    return fmt::format("m ≥ 3p−1, {}{} (per chunk); equal stages, transfers free", times,
                       hides && !x.shortWeights() ? parity : "");
}

Result<ClosedForm> stpForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(checkStp(schedule.pp, schedule.microbatches));
    const StpCase x(schedule, costs);
    if (costs.overlapped || costs.times.backward != x.i + x.w) {
        return usageError(
            "the closed form of stp holds only for pairs that take as long as both halves without their all-reduces",
            fmt::format("use {} instead of {}, or use `bubblescope simulate`", Field("all_reduce"),
                        Field("overlapped")));
    }
    const bool hides = x.a.count() > 0;
    const std::string delay = delayText(x);
    return makespanForm(schedule, costs, x.work + x.delay(),
                        hides ? "R − 2·p·t_ar, minus another t_ar on ranks 0, 2, 4, …; R = " + delay : delay,
                        hides ? "2·m·(f+i+t_w) + R" : "2·m·(t_f+t_i+t_w) + R, R the bubble", domainText(x));
}

PeakForm stpPeaks(const Schedule& schedule) {
    return peakForm(schedule, "3·p + max(1, s)", "m ≥ 3p−1",
                    [p = schedule.pp](int s) { return 3 * p + std::max(1, s); });
}

std::vector<QuotedForm> stpQuotes(const Schedule& schedule, const CostModel& costs) {
    const StpCase x(schedule, costs);
    if (!freeTransfers(costs) || costs.overlapped || costs.times.backward != x.i + x.w) return {};
    const TimeNs total = x.k * (x.f + x.a + x.i - x.w) + (2 * x.p + 1) * x.a;
    return {
        timeQuote(Quantity::Makespan,
                  {"STP", "arXiv 2510.27257", "2·m·(T_F+T_B+T_W) + (p−1)·(T_F+T_AR+T_B−T_W) + (2·p+1)·T_AR",
                   "Its T_F, T_B and T_W are times in a pair, here t_f−t_ar, t_i−t_ar and t_w, and its two bubbles, "
                   "pipeline and all-reduce, are added. It holds for odd p and T_F ≤ T_W ≤ T_B ≤ T_F+T_AR; "
                   "for even p it is up to T_AR too long, and for shorter weight gradients it is too short."},
                  x.work + total, total == x.delay())};
}

} // namespace

FamilyTheory stpTheory() {
    return {.family = "stp",
            .closed_form = stpForm,
            .peak_form = stpPeaks,
            .quoted_forms = stpQuotes,
            .hides_all_reduces = true};
}

} // namespace bubblescope
