// Closed forms of ZB-H1 (Qi et al., 2023) and interleaved zero-bubble, in times of one chunk; c is transfer latency.
//
// m ≥ p: the bubble is (p−1)·max(t_f+t_i−t_w, t_f, t_i). Take t_w ≤ t_f and t_w ≤ t_i first. Rank s starts s·t_f
// late. Its first input gradient comes up from the last rank through p−s−1 stages at t_i each; no weight gradient lies
// on that path, since rank s still owes fewer than s: a wait of (p−s−1)·t_i. In cool-down rank s runs p−s−1 input
// gradients with a weight gradient after each, while the last rank, which still has forwards, sends one every t_f+t_i:
// gaps of t_f−t_w, p−s−1 of them, which consolidation gathers before cool-down. After its last input gradient rank s
// has s more weight gradients to run than rank 0, which takes s·t_w; rank 0's last input gradient comes s·t_i later:
// s·(t_i−t_w) at the end. Together (p−1)(t_f+t_i−t_w) on every rank.
//
// With t_w > t_f the cool-down gaps are filled, and rank 0 waits only for its first input gradient, (p−1)·t_i; the
// ranks below can delay their cool-down by s·(min(t_i, t_w)−t_f). With t_w > t_i the last rank's owed weight gradients
// end after the work of all others, so it idles only before its first forward, (p−1)·t_f. Each of the three is a bubble
// that some rank cannot avoid; the largest one determines the step. The form of Qi et al., 2023, (p−1)(t_f+t_i−t_w),
// holds only while t_w is the smallest of the three.
//
// The span bubble of the zero-bubble papers, counted on a rank's own span, is largest on rank 0: it waits (p−1)·t_i for
// its first input gradient and p−1 times t_f−t_w in cool-down.
//
// m < p, one chunk per rank: every micro-batch goes down and up without meeting another, and the last input gradient
// leaves the last rank at (p−1)·t_f + m·(t_f+t_i). The step ends with the latest of three: rank 0 runs that input
// gradient, which arrives (p−1)·t_i later, and a weight gradient; rank 0 runs all m input and weight gradients without
// a pause from the arrival of the first, p·t_f + (p−1)·t_i; rank m−1, the first to run all its weight gradients at the
// end, runs those. Rank s defers l = min(s, m−1) weight gradients to the end; rank 0 runs each of these between two
// input gradients, and rank s waits there instead.
//
// Transfers: every border costs c on a forward's way down, c on the last gradient's way up, and 2·c once before a
// rank's first gradient and once in its cool-down, (p−1)·4·c on every rank; ranks below wait for the same in their
// steady part. Everything else that is late by 2·c hides behind a weight gradient that can run first, while 2·c ≤ t_w.
// With chunks the warm-up passes all p borders once more for each chunk but one.
//
// ZB-H1 in Paddle's order, for m ≥ p. As long as the last rank splits its backwards, p−1 of them, it is faster than the
// ranks above by t_w per turn and gains (p−1)·t_w. But it depends on the forwards that the ranks above send at their
// pace, and can keep no more of its lead than the one forward it has in stock, t_f. The rest is (p−1)·t_i before rank
// 0's first backward and, in its cool-down, t_f for each of p−1 backwards less that lead: (p−1)(t_f+t_i) −
// min((p−1)·t_w, t_f). The last rank, which starts (p−1)·t_f late and ends with p weight gradients, becomes the longest
// where both t_w > t_i and t_f > (p−1)·t_i; the papers' span does not count its start. The gain over 1F1B therefore
// does not grow with p, as that of the paper's order does.
//
// Its positions: before the first op and before the first backward as in the paper's order. A rank's last backward is
// split and defers its weight gradient, as do those of the ranks above it except rank 0, so it can wait
// s·min(t_i, t_w) longer than the backward before it. After it rank s runs s more weight gradients than rank 0, against
// s·t_i on the way up to rank 0. The rest of the total lies between steady and cool-down.

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

constexpr TimeNs kNoTime{0};

/// Abbreviations for sizes and times.
struct DelayedCase {
    DelayedCase(const Schedule& schedule, const CostModel& costs)
        : p(schedule.pp), m(schedule.microbatches), v(schedule.vpp), f(costs.times.forward), i(costs.times.input_grad),
          w(costs.times.weight_grad), c(costs.comm) {}

    [[nodiscard]] TimeNs work() const { return m * v * (f + i + w); }
    [[nodiscard]] bool shortWeights() const { return w <= std::min(f, i); }

    std::int64_t p;
    std::int64_t m;
    std::int64_t v;
    TimeNs f;
    TimeNs i;
    TimeNs w;
    TimeNs c;
};

ClosedForm manyDelayed(const Schedule& schedule, const CostModel& costs) {
    const DelayedCase x(schedule, costs);
    const TimeNs after_forward = x.f - std::min(x.i, x.w);
    FormBuilder form(schedule, costs, "m ≥ p, any t_f, t_i and t_w (per chunk); equal stages, transfers free");
    for (int s = 0; s < schedule.pp; ++s) {
        const std::int64_t below = x.p - s - 1;
        const TimeNs behind = s * std::max(kNoTime, x.i - x.w);
        const TimeNs slack = s * std::max(kNoTime, -after_forward);
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, "s·t_f", s * x.f},
                                        {Position::WarmupToSteady, "(p−s−1)·t_i", below * x.i}};
        if (below > 0 || x.v > 1) {
            terms.push_back({Position::SteadyToCooldown,
                             "(p−s−1)·max(0, t_f−min(t_i, t_w)) + s·max(0, min(t_i, t_w)−t_f)",
                             below * std::max(kNoTime, after_forward) + slack});
            terms.push_back({Position::AfterCooldown, "s·max(0, t_i−t_w)", behind});
        } else { // its cool-down contains only weight gradients
            terms.push_back(
                {Position::AfterCooldown, "s·(max(0, t_i−t_w) + max(0, min(t_i, t_w)−t_f))", behind + slack});
        }
        form.addRank(s, std::move(terms));
    }
    return withSpan(
        form.finish("(p−1)·max(t_f+t_i−t_w, t_f, t_i)", "m·v·(t_f+t_i+t_w) + (p−1)·max(t_f+t_i−t_w, t_f, t_i)"),
        (x.p - 1) * (x.i + std::max(kNoTime, x.f - x.w)), x.work());
}

ClosedForm fewDelayed(const Schedule& schedule, const CostModel& costs) {
    const DelayedCase x(schedule, costs);
    const TimeNs rank_zero =
        std::max((x.m + x.p - 1) * (x.f + x.i) + x.w, x.p * x.f + (x.p - 1) * x.i + x.m * (x.i + x.w));
    const TimeNs bubble = std::max(rank_zero - x.work(), (x.p - 1) * x.f + (x.p - x.m) * x.i);
    FormBuilder form(schedule, costs, "m < p, v = 1, any t_f, t_i and t_w; equal stages, transfers free");
    for (int s = 0; s < schedule.pp; ++s) {
        const std::int64_t below = x.p - s - 1;
        const TimeNs start = s * x.f;
        const TimeNs kept = std::min<std::int64_t>(s, x.m - 1) * std::min(x.i, x.w);
        const TimeNs wait = below * x.i;
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, "s·t_f", start}};
        if (below == 0) {
            terms.push_back({Position::AfterCooldown, "T − m·(t_f+t_i+t_w) − s·t_f", bubble - start});
        } else if (x.m <= x.p - s) { // no steady part
            terms.push_back(
                {Position::ForwardToBackward, "T − m·(t_f+t_i+t_w) − s·(t_f+t_i)", bubble - start - s * x.i});
            terms.push_back({Position::InsideCooldown, "min(s, m−1)·min(t_i, t_w)", kept});
        } else {
            const TimeNs gaps = std::max<std::int64_t>(0, std::min(x.p - x.m, below) - 1) * std::min(x.i, x.w);
            const std::string count = "max(0, min(p−m, p−s−1)−1)";
            terms.push_back({Position::WarmupToSteady, "(p−s−1)·t_i", wait});
            terms.push_back(
                {Position::SteadyToCooldown,
                 fmt::format("T − m·(t_f+t_i+t_w) − s·t_f − (p−1)·t_i + (min(s, m−1)−{})·min(t_i, t_w)", count),
                 bubble - start - wait - s * x.i + kept - gaps});
            terms.push_back({Position::InsideCooldown, count + "·min(t_i, t_w)", gaps});
        }
        if (below > 0) terms.push_back({Position::AfterCooldown, "s·t_i − min(s, m−1)·min(t_i, t_w)", s * x.i - kept});
        form.addRank(s, std::move(terms));
    }
    return withSpan(form.finish("T − m·(t_f+t_i+t_w), T the makespan",
                                "T = max((m+p−1)·(t_f+t_i)+t_w, p·t_f+(p−1)·t_i+m·(t_i+t_w), "
                                "(p−1)·t_f+m·(t_f+t_i+t_w)+(p−m)·t_i)"),
                    rank_zero - x.work(), x.work());
}

ClosedForm slowDelayed(const Schedule& schedule, const CostModel& costs) {
    const DelayedCase x(schedule, costs);
    const TimeNs turn = x.p * x.c;
    FormBuilder form(schedule, costs,
                     x.v == 1 ? "m ≥ 2p−1, 2·c ≤ t_w ≤ min(t_f, t_i); equal stages"
                              : "m divisible by p, m ≥ 2p, 2·c ≤ t_w ≤ min(t_f, t_i) (per chunk); equal stages");
    for (int s = 0; s < schedule.pp; ++s) {
        const std::int64_t below = x.p - s - 1;
        std::vector<PositionTerm> terms{
            {Position::BeforeWarmup, "s·(t_f+c)", s * (x.f + x.c)},
            {Position::InsideSteady, "2·s·c", 2 * s * x.c},
            {Position::SteadyToCooldown, "(p−s−1)·(t_f−t_w+2·c)", below * (x.f - x.w + 2 * x.c)},
            {Position::AfterCooldown, "s·(t_i−t_w+c)", s * (x.i - x.w + x.c)}};
        if (x.v == 1 || below > 0) {
            terms.push_back({Position::WarmupToSteady, "(p−s−1)·(t_i+2·c)", below * (x.i + 2 * x.c)});
            if (x.v > 1) terms.push_back({Position::InsideWarmup, "(v−1)·p·c", (x.v - 1) * turn});
        } else { // its steady part begins with the forward that ends the last turn
            terms.push_back({Position::InsideWarmup, "(v−2)·p·c", (x.v - 2) * turn});
            terms.push_back({Position::WarmupToSteady, "p·c", turn});
        }
        form.addRank(s, std::move(terms));
    }
    const std::string bubble = x.v == 1 ? "(p−1)·(t_f+t_i−t_w+4·c)" : "(p−1)·(t_f+t_i−t_w+4·c) + (v−1)·p·c";
    return form.finish(bubble, "m·v·(t_f+t_i+t_w) + " + bubble);
}

Result<ClosedForm> delayedWeightForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const DelayedCase x(schedule, costs);
    if (x.c > kNoTime && x.p > 1) {
        const bool enough = x.v == 1 ? x.m >= 2 * x.p - 1 : x.m % x.p == 0 && x.m >= 2 * x.p;
        if (enough && x.shortWeights() && 2 * x.c <= x.w) return slowDelayed(schedule, costs);
        return usageError(fmt::format("with slow transfers, the closed form of {} holds only for {} and 2·c ≤ t_w ≤ "
                                      "min(t_f, t_i)",
                                      schedule.name, x.v == 1 ? "m ≥ 2p−1" : "m = 2p, 3p, …"),
                          "use `bubblescope simulate`");
    }
    if (x.m >= x.p) return manyDelayed(schedule, costs);
    if (x.v == 1) return fewDelayed(schedule, costs);
    return usageError("with fewer micro-batches than ranks, the closed form holds only for one chunk per rank",
                      "use `bubblescope simulate`");
}

PeakForm delayedWeightPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const int group = m / std::max(1, m / p);
    const int peak = (schedule.vpp - 1) * group + std::min(m, p);
    if (schedule.vpp == 1) return peakForm(schedule, "min(m, p)", "any m", [=](int) { return peak; });
    return peakForm(schedule, "(v−1)·N + min(m, p), groups of N = m/max(1, m div p)", "any m and v",
                    [=](int) { return peak; });
}

/// Detected from the order itself, since a trace may not name the flavor: Paddle's rank 0 runs whole backwards.
bool isPaddles(const Schedule& schedule) {
    return std::ranges::find(schedule.ranks.front(), OpKind::Backward, &Op::kind) != schedule.ranks.front().end();
}

Result<ClosedForm> paddleH1Form(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const TimeNs gain = std::min((p - 1) * t.weight_grad, t.forward);
    const TimeNs on_span = (p - 1) * (t.forward + t.input_grad) - gain;
    const TimeNs bubble = std::max(on_span, (p - 1) * t.forward);
    const std::string total = "max((p−1)·(t_f+t_i) − min((p−1)·t_w, t_f), (p−1)·t_f)";
    FormBuilder form(schedule, costs, "m ≥ p, any t_f, t_i and t_w; equal stages, transfers free");
    for (int s = 0; s < schedule.pp; ++s) {
        const TimeNs start = s * t.forward;
        const TimeNs wait = (p - s - 1) * t.input_grad;
        const TimeNs late = s * std::min(t.input_grad, t.weight_grad);
        const TimeNs end = s * std::max(TimeNs{0}, t.input_grad - t.weight_grad);
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, "s·t_f", start},
                                        {Position::WarmupToSteady, "(p−s−1)·t_i", wait}};
        if (s == p - 1) {
            terms.push_back({Position::AfterCooldown, total + " − s·t_f", bubble - start});
        } else {
            // Rank p−2's cool-down begins with its last input gradient, so all bubbles before it are one.
            const TimeNs inside = s == p - 2 ? TimeNs{0} : late;
            const std::string rest = s == p - 2 ? "(p−s−1)·t_i − s·max(0, t_i−t_w)" : "(p−1)·t_i";
            terms.push_back(
                {Position::SteadyToCooldown, total + " − s·t_f − " + rest, bubble - start - wait - inside - end});
            if (s < p - 2) terms.push_back({Position::InsideCooldown, "s·min(t_i, t_w)", inside});
            terms.push_back({Position::AfterCooldown, "s·max(0, t_i−t_w)", end});
        }
        form.addRank(s, std::move(terms));
    }
    return withSpan(form.finish(total, "m·(t_f+t_i+t_w) + " + total), on_span,
                    std::int64_t{schedule.microbatches} * (t.forward + t.backward));
}

Result<ClosedForm> zbH1Form(const Schedule& schedule, const CostModel& costs) {
    return isPaddles(schedule) ? paddleH1Form(schedule, costs) : delayedWeightForm(schedule, costs);
}

Result<ClosedForm> zbH1GeneralForm(const Schedule& schedule, const CostModel& costs) {
    if (!isPaddles(schedule)) return delayedWeightForm(schedule, costs);
    return usageError("the closed form of zb-h1 (paddle) holds only for equal stages and transfers that take no time",
                      "use `bubblescope simulate`");
}

std::vector<QuotedForm> paddleH1Quotes(const Schedule& schedule, const OpTimes& t) {
    const std::int64_t p = schedule.pp;
    const bool holds = p == 1 || ((p - 1) * t.weight_grad <= t.forward && t.weight_grad <= t.input_grad);
    return {bubbleQuote(
        schedule,
        {"ZB-H1 as in the paper", "zero-bubble paper (ICLR)", "(p−1)·(t_f+t_i−t_w)",
         "Paddle's order splits only the first s backwards and the last one, so it gains at most one forward over "
         "1F1B, min((p−1)·t_w, t_f). It reaches the paper's (p−1)·t_w if (p−1)·t_w ≤ t_f and t_w ≤ t_i."},
        (p - 1) * (t.forward + t.input_grad - t.weight_grad), holds)};
}

std::vector<QuotedForm> zbH1Quotes(const Schedule& schedule, const CostModel& costs) {
    if (!freeTransfers(costs)) return {};
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const int m = schedule.microbatches;
    if (isPaddles(schedule)) return paddleH1Quotes(schedule, t);

    const bool short_weights = t.weight_grad <= std::min(t.forward, t.input_grad);
    if (m < p && !short_weights) return {};
    const bool holds = p == 1 || (short_weights && (m >= p || t.weight_grad.count() == 0));
    const TimeNs bubble = (p - 1) * (t.forward + t.input_grad - t.weight_grad);
    std::vector<QuotedForm> list{
        bubbleQuote(schedule,
                    {"ZB-H1", "zero-bubble paper (ICLR)", "(p−1)·(t_f+t_i−t_w)",
                     "It holds for m ≥ p if t_w is at most t_f and t_i. With longer weight gradients the bubble is "
                     "(p−1)·max(t_f, t_i)."},
                    bubble, holds),
        bubbleQuote(schedule,
                    {"ZB1P", "DeepSeek-V3 report and DualPipe README", "(p−1)·(t_f+t_b−2·t_w)",
                     "Its B is the whole backward, so this is the paper's (p−1)·(t_f+t_i−t_w) in other letters, with "
                     "the same domain. With B as the input gradient it would be too small by (p−1)·t_w."},
                    bubble, holds)};
    if (equalTimes(t) && m >= p)
        list.push_back(sailSgFractionQuote(schedule, 2, schedule.pp - 1, "ZB1P", "B/3, B = (p−1)/(m+p−1)"));
    return list;
}

} // namespace

FamilyTheory zbH1Theory() {
    return {.family = "zb-h1",
            .closed_form = zbH1Form,
            .peak_form = delayedWeightPeaks,
            .general_form = zbH1GeneralForm,
            .quoted_forms = zbH1Quotes};
}

FamilyTheory interleavedZbTheory() {
    return {.family = "interleaved-zb",
            .closed_form = delayedWeightForm,
            .peak_form = delayedWeightPeaks,
            .general_form = delayedWeightForm};
}

} // namespace bubblescope
