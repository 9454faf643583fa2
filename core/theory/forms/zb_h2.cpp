// Closed form of ZB-H2 (Qi et al., 2023), for m ≥ 2p−1; c is a transfer's latency.
//
// Rank s starts s·(t_f+c) late. From the last rank's first input gradient to rank s's there are p−s−1 borders, t_i+c
// each, after as many for the forward, c each. Meanwhile rank s runs the forwards that it has in excess of the last
// rank; p−s−1 of them are not needed for the last rank's start: it waits (p−s−1)(t_i−t_f+2·c) if that is positive. Rank
// 0 runs a weight gradient after every input gradient, while the last rank is 2(p−1) of them behind by the end. So
// input gradients come up every t_f+t_i early in the step, and rank 0 takes t_f+t_i+t_w per turn: it loses p−1 times
// the amount by which t_f+t_i+2·c exceeds 2·t_w. The last rank loses its (p−1)(t_f+c) before the first forward. The
// largest of the three decides the makespan: (p−1)·max(t_f+c, t_f+t_i−2·t_w+2·c, t_i−t_f+2·c). After its last input
// gradient rank s has 2s more weight gradients to run than rank 0, against s·(t_i+c) on the way up to rank 0. The rest
// of the total lies between steady and cool-down. Transfers stay hidden where they are short compared with the ops that
// can be moved in front of them, two forwards or a weight gradient.
//
// "Zero" refers to the bubble on a rank's own span, from its first op to its last: at most
// (p−1)·max(t_f+t_i−2·t_w+2·c, t_i−t_f+2·c, 0), which is 0 for t_f = t_i = t_w and c = 0. From the step's start to its
// end every rank still idles for (p−1)·t_f, unless the next step's forwards fill that.
//
// With fewer micro-batches rank s has w = min(m, 2(p−s)−1) forwards in its warm-up and l = min(2s, m−1) weight
// gradients beyond one after its last input gradient. It ends with the longest of three: all its work from its first
// input gradient on; the last input gradient's way from the last rank, and the weight gradients after it; or that of
// input gradient l, from which on it runs without a pause. The step ends with the last rank. Consolidated, input
// gradient k of rank s comes as late as the ranks j ≤ s allow, each of which has m−1−k input gradients and
// m−max(0, k−2j) weight gradients still to run after its own: E(k) before the end. The bubble inside cool-down is the
// time between the first and the last input gradient of the cool-down, less the work in it.

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

ClosedForm manyH2(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const TimeNs c = costs.comm;
    const std::int64_t p = schedule.pp;
    const TimeNs none{0};
    const bool slow = c > none;
    const TimeNs turn = t.forward + t.input_grad - 2 * t.weight_grad + 2 * c;
    const TimeNs answer = t.input_grad - t.forward + 2 * c;
    const TimeNs bubble = (p - 1) * std::max({t.forward + c, turn, answer});
    const std::string total =
        slow ? "(p−1)·max(t_f+c, t_f+t_i−2·t_w+2·c, t_i−t_f+2·c)" : "(p−1)·max(t_f, t_f+t_i−2·t_w, t_i−t_f)";
    const std::string starts = slow ? "s·(t_f+c)" : "s·t_f";
    const std::string waits = slow ? "(p−s−1)·max(0, t_i−t_f+2·c)" : "(p−s−1)·max(0, t_i−t_f)";
    const std::string ends = slow ? "s·max(0, t_i−2·t_w+c)" : "s·max(0, t_i−2·t_w)";
    FormBuilder form(schedule, costs,
                     slow ? "m ≥ 2p−1, 2·c ≤ t_f or c ≤ t_w ≤ min(t_f, t_i); equal stages"
                          : "m ≥ 2p−1, any t_f, t_i and t_w; equal stages, transfers free");
    for (int s = 0; s < schedule.pp; ++s) {
        const TimeNs start = s * (t.forward + c);
        const TimeNs wait = (p - s - 1) * std::max(none, answer);
        const TimeNs end = s * std::max(none, t.input_grad - 2 * t.weight_grad + c);
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, starts, start},
                                        {Position::WarmupToSteady, waits, wait}};
        if (s == p - 1) { // its cool-down contains only weight gradients
            terms.push_back({Position::AfterCooldown, total + " − " + starts, bubble - start});
        } else {
            terms.push_back({Position::SteadyToCooldown, fmt::format("{} − {} − {} − {}", total, starts, waits, ends),
                             bubble - start - wait - end});
            terms.push_back({Position::AfterCooldown, ends, end});
        }
        form.addRank(s, std::move(terms));
    }
    return withSpan(form.finish(total, "m·(t_f+t_i+t_w) + " + total), (p - 1) * std::max({turn, answer, none}),
                    std::int64_t{schedule.microbatches} * (t.forward + t.backward));
}

/// Fewer than 2p−1 micro-batches: abbreviations for sizes and times.
struct FewH2Case {
    FewH2Case(const Schedule& schedule, const CostModel& costs)
        : p(schedule.pp), m(schedule.microbatches), f(costs.times.forward), i(costs.times.input_grad),
          w(costs.times.weight_grad) {}

    [[nodiscard]] std::int64_t warmup(std::int64_t s) const { return std::min(m, 2 * (p - s) - 1); }
    [[nodiscard]] std::int64_t kept(std::int64_t s) const { return std::min(2 * s, m - 1); }
    [[nodiscard]] TimeNs work() const { return m * (f + i + w); }
    /// The end of the last op of rank s.
    [[nodiscard]] TimeNs endOf(std::int64_t s) const {
        const TimeNs first = std::max((s + warmup(s)) * f, p * f + (p - s - 1) * i);
        const TimeNs last_gradients = (m + p - s - 1) * i;
        return std::max({first + (m - warmup(s)) * f + m * (i + w),
                         (m + p - 1) * f + last_gradients + (kept(s) + 1) * w,
                         (p + kept(s)) * f + last_gradients + m * w});
    }
    /// The time between the latest end of input gradient k of rank s and the end of the step.
    [[nodiscard]] TimeNs before(std::int64_t s, std::int64_t k) const {
        TimeNs longest{0};
        for (std::int64_t j = 0; j <= s; ++j)
            longest = std::max(longest, (s - j + m - 1 - k) * i + (m - std::max<std::int64_t>(0, k - 2 * j)) * w);
        return longest;
    }

    std::int64_t p;
    std::int64_t m;
    TimeNs f;
    TimeNs i;
    TimeNs w;
};

std::vector<PositionTerm> fewH2Terms(const FewH2Case& x, std::int64_t s, TimeNs bubble) {
    const TimeNs start = s * x.f;
    std::vector<PositionTerm> terms{{Position::BeforeWarmup, "s·t_f", start}};
    if (s == x.p - 1) {
        terms.push_back({Position::AfterCooldown, "T − m·(t_f+t_i+t_w) − s·t_f", bubble - start});
        return terms;
    }
    const bool steady = x.warmup(s) < x.m;
    const std::int64_t first = steady ? x.m - x.warmup(s) + 1 : 0; // of cool-down, except for its first gap
    const std::int64_t weights = std::max<std::int64_t>(0, x.m - 1 - std::max(first, 2 * s));
    const TimeNs end = x.before(s, x.m - 1) - (x.kept(s) + 1) * x.w;
    const TimeNs inside = x.before(s, first) - x.before(s, x.m - 1) - (x.m - 1 - first) * x.i - weights * x.w;
    const TimeNs wait = steady ? (x.p - s - 1) * std::max(TimeNs{0}, x.i - x.f) : TimeNs{0};
    terms.push_back({Position::InsideCooldown,
                     steady ? "E(n) − E(m−1) − (m−1−n)·t_i − max(0, m−1−max(n, 2·s))·t_w, n = 2·s+m−2·p+2"
                            : "E(0) − E(m−1) − (m−1)·t_i − max(0, m−1−2·s)·t_w",
                     inside});
    terms.push_back({Position::AfterCooldown,
                     "E(m−1) − min(2·s+1, m)·t_w, E(k) = max over j ≤ s of (s−j+m−1−k)·t_i + (m−max(0, k−2·j))·t_w",
                     end});
    const TimeNs rest = bubble - start - wait - inside - end;
    if (steady) {
        terms.push_back({Position::WarmupToSteady, "(p−s−1)·max(0, t_i−t_f)", wait});
        terms.push_back({Position::SteadyToCooldown, "T − m·(t_f+t_i+t_w) − the rank's other bubbles", rest});
    } else {
        terms.push_back({Position::ForwardToBackward, "T − m·(t_f+t_i+t_w) − the rank's other bubbles", rest});
    }
    return terms;
}

ClosedForm fewH2(const Schedule& schedule, const CostModel& costs) {
    const FewH2Case x(schedule, costs);
    TimeNs makespan{0};
    TimeNs span{0};
    for (std::int64_t s = 0; s < x.p; ++s) {
        makespan = std::max(makespan, x.endOf(s));
        span = std::max(span, x.endOf(s) - s * x.f);
    }
    FormBuilder form(schedule, costs, "m < 2p−1, any t_f, t_i and t_w; equal stages, transfers free");
    for (int s = 0; s < schedule.pp; ++s)
        form.addRank(s, fewH2Terms(x, s, makespan - x.work()));
    return withSpan(form.finish("T − m·(t_f+t_i+t_w), T the makespan",
                                "T = max over s of max((s+w)·t_f, p·t_f+(p−s−1)·t_i) + (m−w)·t_f + m·(t_i+t_w), "
                                "(m+p−1)·t_f + (m+p−s−1)·t_i + (l+1)·t_w and (p+l)·t_f + (m+p−s−1)·t_i + m·t_w, "
                                "w = min(m, 2·(p−s)−1), l = min(2·s, m−1)"),
                    span - x.work(), x.work());
}

Result<ClosedForm> zbH2Form(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const OpTimes& t = costs.times;
    const TimeNs c = schedule.pp > 1 ? costs.comm : TimeNs{0};
    const bool many = schedule.microbatches >= 2 * schedule.pp - 1;
    if (c.count() == 0) return many ? manyH2(schedule, costs) : fewH2(schedule, costs);
    const bool hidden =
        2 * c <= t.forward || (c <= t.weight_grad && t.weight_grad <= std::min(t.forward, t.input_grad));
    if (many && hidden) return manyH2(schedule, costs);
    return usageError("with slow transfers, the closed form of zb-h2 holds only for m ≥ 2p−1 and 2·c ≤ t_f or "
                      "c ≤ t_w ≤ min(t_f, t_i)",
                      "use `bubblescope simulate`");
}

PeakForm zbH2Peaks(const Schedule& schedule) {
    const int peak = std::min(schedule.microbatches, 2 * schedule.pp - 1);
    return peakForm(schedule, "min(m, 2·p−1)", "any m", [=](int) { return peak; });
}

std::vector<QuotedForm> zbH2Quotes(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    if (!freeTransfers(costs) || schedule.microbatches < 2 * p - 1) return {};
    const TimeNs paper = t.forward + t.input_grad - 2 * t.weight_grad;
    const TimeNs late = t.input_grad - t.forward;
    const bool none = std::max(paper, late).count() <= 0;
    return {
        timeQuote(Quantity::SpanBubble,
                  {"ZB-H2", "zero-bubble paper (ICLR)", "(p−1)·(t_f+t_i−2·t_w)",
                   "It counts a rank's span and holds if t_w ≤ t_f and 2·t_w ≤ t_f+t_i; otherwise the span's bubble is "
                   "(p−1)·max(t_i−t_f, 0). From the step's start to its end ranks idle (p−1)·max(t_f, t_f+t_i−2·t_w, "
                   "t_i−t_f)."},
                  (p - 1) * paper, p == 1 || (paper >= late && paper.count() >= 0)),
        ratioQuote(Quantity::SpanBubbleRate,
                   {"ZB2P has no bubble", "sail-sg README", "0",
                    "It counts a rank's span, from its first op to its last, and holds only where t_f+t_i ≤ 2·t_w and "
                    "t_i ≤ t_f. From the step's start to its end each rank still idles at least (p−1)·t_f."},
                   0, p == 1 || none)};
}

} // namespace

FamilyTheory zbH2Theory() {
    return {.family = "zb-h2",
            .closed_form = zbH2Form,
            .peak_form = zbH2Peaks,
            .general_form = zbH2Form,
            .quoted_forms = zbH2Quotes};
}

} // namespace bubblescope
