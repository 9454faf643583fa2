// Closed form of the fixed pattern of ZB-V (Qi et al., 2024), for m ≥ 2p−1.
//
// Take t_w ≤ t_f ≤ t_i first. Rank s starts s·t_f late. Its first gradient needs the forwards of p stages twice and the
// input gradients of the p−1 ranks before it, so rank s waits for s input gradients while it has only s forwards to
// run: s·(t_i−t_f). The last rank never waits again. Rank 0 never waits for a forward, but a gradient of chunk 0 takes
// t_i for the hop from its neighbour, and in the rounds in which the V fills and empties rank 0 has only a weight
// gradient to run meanwhile: p−1 gaps of t_i−t_w at either end, p−s−1 on rank s. Every rank has the same work, so the
// larger of the two lengthens the step for all: (p−1)·max(t_i, 2(t_i−t_w)). After its last input gradient rank s has 2s
// more weight gradients to run than rank 0, against s·t_i on the way up. At t_f = t_i = t_w no rank waits between its
// first and its last op ("zero bubble"); what remains is that the last rank starts late. Counted on the span of the
// rank that takes longest from its first op to its last, the bubble is 2(p−1)(t_i−t_w).
//
// With t_w ≤ t_i < t_f the forwards delay the V. Every rank further in makes rank s wait t_f−t_i before its first
// gradient and t_f−t_w in the rounds that fill the V; every rank further out makes it wait t_f−t_i in those that empty
// it, less min(t_f−t_i, t_w) once, which the last round's weight gradient hides:
// (p−1)(2·t_f − t_i + max(0, t_i−2·t_w)) − min(t_f−t_i, t_w).
//
// Longer weight gradients delay other rounds. With k = p−1 the bubble is the largest of seven terms: 2k(t_i−t_w) and
// k·t_i from above; (2k−1)·t_f + t_i − 2k·t_w, (2k−1)·t_f − (k−1)·t_i, 2k·t_f − k·t_i − t_w and 2k·t_f − (2k+1)·t_w
// where forwards are slow and partly hidden by the other ops; and max(t_f, t_i) + (k−1)·t_w where each rank has one
// weight gradient less than its neighbour. The total holds for all times. The positions of the gaps are then not known,
// so only totals are given.

#include "core/base/field.h"
#include "core/theory/forms/family_theory.h"

#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

/// True if this is the fixed pattern; the other flavors adapt to the times.
bool isFixed(const Schedule& schedule) {
    return schedule.flavor == "handcrafted" || schedule.flavor == "torch";
}

constexpr std::string_view kFixedBubble =
    "max(2·k·(t_i−t_w), k·t_i, max(t_f, t_i)+(k−1)·t_w, (2·k−1)·t_f−(k−1)·t_i, (2·k−1)·t_f+t_i−2·k·t_w, "
    "2·k·t_f−k·t_i−t_w, 2·k·t_f−(2·k+1)·t_w), k = p−1";

TimeNs fixedBubble(std::int64_t k, const OpTimes& t) {
    if (k == 0) return TimeNs{0};
    const TimeNs f = t.forward;
    const TimeNs i = t.input_grad;
    const TimeNs w = t.weight_grad;
    return std::max({2 * k * (i - w), k * i, std::max(f, i) + (k - 1) * w, (2 * k - 1) * f - (k - 1) * i,
                     (2 * k - 1) * f + i - 2 * k * w, 2 * k * f - k * i - w, 2 * k * f - (2 * k + 1) * w});
}

/// For m ≥ 2p−1 and t_w ≤ min(t_f, t_i).
ClosedForm zbVPositions(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const TimeNs none{0};
    const TimeNs slow = t.forward - t.input_grad;
    const TimeNs hidden = p > 1 ? std::min(slow, t.weight_grad) : none;
    const TimeNs gap = t.input_grad - t.weight_grad;
    FormBuilder form(schedule, costs,
                     fmt::format("m ≥ 2p−1, {} (per chunk); equal stages, transfers free",
                                 slow <= none ? "t_w ≤ t_f ≤ t_i" : "t_w ≤ t_i < t_f"));
    for (int s = 0; s < schedule.pp; ++s) {
        const std::int64_t below = p - s - 1;
        PositionTerm drain{s == 0 ? Position::SteadyToCooldown : Position::InsideCooldown, "(p−s−1)·max(t_w, t_i−t_w)",
                           below * std::max(t.weight_grad, gap)};
        std::vector<PositionTerm> terms{
            {Position::BeforeWarmup, "s·t_f", s * t.forward},
            {Position::AfterCooldown, "s·max(0, t_i−2·t_w)", s * std::max(none, gap - t.weight_grad)}};
        if (slow <= none) {
            terms.push_back({Position::WarmupToSteady, "s·(t_i−t_f)", -s * slow});
            terms.push_back({Position::InsideSteady, "(p−s−1)·(t_i−t_w)", below * gap});
        } else {
            terms.push_back({Position::WarmupToSteady, "(p−s−1)·(t_f−t_i)", below * slow});
            terms.push_back({Position::InsideSteady, "(p−s−1)·(t_f−t_w)", below * (slow + gap)});
            if (s == 0) {
                drain.expression += " − min(t_f−t_i, t_w)";
                drain.value -= hidden;
            } else {
                terms.push_back({Position::SteadyToCooldown, "s·(t_f−t_i) − min(t_f−t_i, t_w)", s * slow - hidden});
            }
        }
        terms.push_back(std::move(drain));
        form.addRank(s, std::move(terms));
    }
    const std::string total =
        slow <= none ? "(p−1)·max(t_i, 2·(t_i−t_w))" : "(p−1)·(2·t_f−t_i + max(0, t_i−2·t_w)) − min(t_f−t_i, t_w)";
    ClosedForm result = form.finish(total, "2·m·(t_f+t_i+t_w) + " + total);
    const TimeNs work = 2 * std::int64_t{schedule.microbatches} * (t.forward + t.input_grad + t.weight_grad);
    const TimeNs on_span =
        slow <= none ? 2 * (p - 1) * gap : (p - 1) * (2 * slow + gap) + std::max(none, (p - 1) * gap - hidden);
    return withSpan(std::move(result), on_span, work);
}

Result<ClosedForm> zbVForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    if (!isFixed(schedule)) {
        return usageError("the greedy orders of zb-v depend on the times and have no closed form",
                          fmt::format("`bubblescope simulate` computes its bubbles; {} has a closed form",
                                      Field("flavor").is("handcrafted")));
    }
    if (m < 2 * p - 1) {
        return usageError("the closed form of zb-v holds only for m ≥ 2p−1",
                          "`bubblescope simulate` computes the bubbles for any m");
    }
    if (t.weight_grad <= std::min(t.forward, t.input_grad)) return zbVPositions(schedule, costs);
    const TimeNs work = 2 * m * (t.forward + t.input_grad + t.weight_grad);
    return makespanForm(schedule, costs, work + fixedBubble(p - 1, t), std::string(kFixedBubble),
                        "2·m·(t_f+t_i+t_w) + R, R the bubble",
                        "m ≥ 2p−1, any t_f, t_i and t_w (per chunk); equal stages, transfers free");
}

PeakForm zbVPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const int v = schedule.vpp;
    if (isFixed(schedule)) {
        return peakForm(schedule, "min(m+1+s, 2·m, 2·p)", "any m", [=](int s) {
            return std::min({m + 1 + s, 2 * m, 2 * p});
        });
    }
    return peakForm(
        schedule, "v·m", "any order of zb-v; its memory limit is not part of the order", [=](int) { return v * m; },
        FormKind::UpperBound);
}

std::vector<QuotedForm> zbVQuotes(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const bool known = t.weight_grad <= t.forward && t.forward <= t.input_grad;
    if (!freeTransfers(costs) || !isFixed(schedule) || schedule.microbatches < 2 * p - 1 || !known) return {};
    return {ratioQuote(
        Quantity::SpanBubbleRate,
        {"ZB-V has no bubble", "sail-sg README", "0",
         "It counts a rank's span, from its first op to its last, and holds for t_f = t_i = t_w. Otherwise the span's "
         "bubble is 2·(p−1)·(t_i−t_w), and from the step's start to its end each rank idles at least (p−1)·t_i."},
        0, p == 1 || t.input_grad == t.weight_grad)};
}

} // namespace

FamilyTheory zbVTheory() {
    return {.family = "zb-v", .closed_form = zbVForm, .peak_form = zbVPeaks, .quoted_forms = zbVQuotes};
}

} // namespace bubblescope
