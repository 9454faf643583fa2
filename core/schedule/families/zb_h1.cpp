// ZB-H1, the zero-bubble schedule in the memory of 1F1B: the order of 1F1B with the backward in halves, the
// weight gradients held back so that the input gradients reach the ranks above early.
//   handcrafted   rank s runs its weight gradients s behind its input gradients, to the end
//   paddle        only the first s backwards and the last one are split; their weight gradients come at the
//                 end. Rank 0 runs whole backwards
//
// Closed form of handcrafted: delayed_weights.cpp. Of Paddle's order, for m ≥ p: as long as the last rank
// splits its backwards, p−1 of them, it is t_w a turn faster than the ranks above and gains (p−1)·t_w; but it
// lives on the forwards that the ranks above send at their pace, and of its lead it can keep no more than
// the one forward it has in stock, t_f. What lies between is (p−1)·t_i before rank 0's first backward and, in
// its cool-down, t_f for each of p−1 backwards less that lead: (p−1)(t_f+t_i) − min((p−1)·t_w, t_f). The last
// rank, which starts (p−1)·t_f late and ends with p weight gradients, takes over as the longest where both
// t_w > t_i and t_f > (p−1)·t_i; the papers' span does not count its start. So the gain over 1F1B does not grow
// with p as that of the paper's order does.
//
// Its positions: before the first op and before the first backward as in the paper's order. A rank's last
// backward is split and leaves its weight gradient for later, as do those above it but rank 0: it can wait
// s·min(t_i, t_w) longer than the backward before it. Behind it lie s more weight gradients than rank 0 has,
// against s·t_i on the way up to rank 0. The rest of the total lies between steady and cool-down.

#include "core/schedule/families/delayed_weights.h"
#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/zero_bubble_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

Op op(OpKind kind, int microbatch) {
    return {kind, Microbatch{microbatch}, Chunk{0}};
}

std::vector<Op> handcraftedOrder(int p, int m, int s) {
    return delayedWeightOrder(
        m, std::min(m, p - s - 1), s, [](int k) { return op(OpKind::Forward, k); },
        [](int k) { return op(OpKind::BackwardInput, k); });
}

std::vector<Op> paddleOrder(int p, int m, int s) {
    auto ops = phaseOrder(
        m, p - s - 1, [](int k) { return op(OpKind::Forward, k); },
        [=](int k) {
            const bool split = k < s || (k == m - 1 && s > 0);
            return op(split ? OpKind::BackwardInput : OpKind::Backward, k);
        });
    if (s > 0) ops.push_back(op(OpKind::BackwardWeight, m - 1));
    for (int k = 0; k < s; ++k)
        ops.push_back(op(OpKind::BackwardWeight, k));
    return ops;
}

Result<Schedule> generate(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    BUBBLESCOPE_TRY(requireOneChunk(spec, "leave --vpp out, or use interleaved-zb or zb-v"));
    const bool paddle = spec.flavor == "paddle";
    if (paddle && m < p) {
        return usageError(fmt::format("zb-h1 (paddle) needs m ≥ p: {} micro-batches, {} ranks", m, p),
                          "give more micro-batches, or flavor handcrafted");
    }
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < p; ++s)
        schedule.ranks.push_back(paddle ? paddleOrder(p, m, s) : handcraftedOrder(p, m, s));
    return schedule;
}

Result<ClosedForm> paddleForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const TimeNs gain = std::min((p - 1) * t.weight_grad, t.forward);
    const TimeNs on_span = (p - 1) * (t.forward + t.input_grad) - gain;
    const TimeNs bubble = std::max(on_span, (p - 1) * t.forward);
    const std::string total = "max((p−1)·(t_f+t_i) − min((p−1)·t_w, t_f), (p−1)·t_f)";
    FormBuilder form(schedule, costs, "m ≥ p, every t_f, t_i and t_w; equal stages, transfers free");
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
            // Rank p−2's cool-down begins with its last input gradient, so that what is before it is one bubble.
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

/// By the order itself, since a trace of it may not say whose it is: Paddle's rank 0 runs whole backwards.
bool isPaddles(const Schedule& schedule) {
    return std::ranges::find(schedule.ranks.front(), OpKind::Backward, &Op::kind) != schedule.ranks.front().end();
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    return isPaddles(schedule) ? paddleForm(schedule, costs) : delayedWeightForm(schedule, costs);
}

Result<ClosedForm> generalForm(const Schedule& schedule, const CostModel& costs) {
    if (!isPaddles(schedule)) return delayedWeightForm(schedule, costs);
    return usageError("the closed form of zb-h1 (paddle) holds for equal stages and transfers that take no time",
                      "use `bubblescope simulate`");
}

} // namespace

ScheduleFamily zbH1Family() {
    return {"zb-h1",
            "ZB-H1 (zero bubble, memory of 1F1B)",
            {},
            {"handcrafted", "paddle"},
            Placement::Loop,
            "v = 1; handcrafted: m ≥ 1; paddle: m ≥ p",
            generate,
            familyForm,
            delayedWeightPeaks,
            generalForm,
            zbH1Quotes};
}

} // namespace bubblescope
