// Closed forms of Hanayo's waves (Liu et al., 2023).
//
// For t_f = t_b = t. On its way through 2·v·p ticks a micro-batch that enters in tick e meets rank s in the ticks e+s
// and e+2p−1−s modulo 2p. Micro-batches that enter two ticks apart therefore never need a rank at the same time; p of
// them fill every tick of every rank, and the next p can enter where they leave. The last of m enters in tick
// 2·v·p·(⌈m/p⌉−1) + 2·((m−1) mod p) and leaves 2·v·p ticks later. The greedy order enters micro-batches earlier and
// ends no sooner: with m divisible by p it cannot, as the last rank has 2·m·v ops, p−1 ticks before the first of them
// and as many after the last.
//
// With t_f ≠ t_b the meeting points shift against each other. In a round of p micro-batches, m ≤ p, the longer kind
// sets the pace wherever the two meet: all ops take max(t_f, t_b) except one of each kind and chunk that some rank must
// run alone, v·p·(t_f+t_b) for the way of one micro-batch, and each further one adds 2·max(t_f, t_b). With g = m/p
// rounds and t_f ≥ t_b every round loses (p−1)(t_f−t_b) more. With t_f < t_b and more than one round whether the greedy
// order, which was designed for equal ops, sends forwards ahead depends on v, p and both times: no form is known, and
// the bound for any order is given.
//
// With transfers that take c ≤ t, t = t_f = t_b, and m = g·p: a round passes v(p−1) borders and back, and the next
// round follows it over all but one each way; 2(p−1)·c for the way of the first to the last rank and back are added.
// Longer transfers would delay ranks that have an op to run meanwhile.
//
// Positions, m = g·p and t_f ≥ t_b, d = t_f−t_b: s·t_f and s·t_b at the outer positions. Rank s waits (p−s−1)·t_f until
// the wave returns to it for the first time. That lies inside its warm-up in the first round when there is only one
// (directly before the first backward where v = 2 lets it turn around at once), and inside the steady part otherwise.
// It waits (p−s−1)·t_b in cool-down. The first round's (p−1)·d consists of (p−s−1)·d before the steady part and s·d
// after it; those of all further rounds lie inside.

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

constexpr std::string_view kEqualAndFree = "; equal stages, transfers free";

/// For whole rounds of p micro-batches and t_f ≥ t_b; a lone rank never waits.
ClosedForm hanayoPositions(const Schedule& schedule, const CostModel& costs) {
    const TimeNs forward = costs.times.forward;
    const TimeNs backward = costs.times.backward;
    const TimeNs apart = forward - backward;
    const std::int64_t p = schedule.pp;
    const std::int64_t rounds = schedule.microbatches / p;
    FormBuilder form(schedule, costs, fmt::format("m divisible by p, v even, t_f ≥ t_b (per chunk){}", kEqualAndFree));
    for (int s = 0; s < schedule.pp; ++s) {
        const std::int64_t below = p - s - 1;
        const bool turns = s == 0 && schedule.vpp == 2;
        // In a single round of v = 2 a rank's last warm-up forward but those of the turn is its first steady one.
        const std::int64_t at_turn = rounds > 1 || schedule.vpp > 2 ? 0
                                     : turns                        ? below
                                                                    : std::min<std::int64_t>(1, below);
        std::vector<PositionTerm> terms{{Position::BeforeWarmup, "s·t_f", s * forward},
                                        {Position::WarmupToSteady,
                                         at_turn == 0 ? "(p−s−1)·(t_f−t_b)"
                                         : turns      ? "(p−1)·(2·t_f−t_b)"
                                                      : "(p−s−1)·(t_f−t_b) + min(1, p−s−1)·t_f",
                                         below * apart + at_turn * forward},
                                        {Position::AfterCooldown, "s·t_b", s * backward}};
        if (rounds > 1) {
            terms.push_back({Position::InsideSteady, "(m/p−1)·(p−1)·(t_f−t_b) + (p−s−1)·t_f",
                             (rounds - 1) * (p - 1) * apart + below * forward});
        } else {
            terms.push_back({Position::InsideWarmup,
                             schedule.vpp > 2 ? "(p−s−1)·t_f"
                             : turns          ? "0"
                                              : "max(0, p−s−2)·t_f",
                             (below - at_turn) * forward});
        }
        if (turns) {
            terms.push_back({Position::SteadyToCooldown, "(p−1)·t_b", below * backward});
        } else {
            terms.push_back({Position::SteadyToCooldown, "s·(t_f−t_b)", s * apart});
            terms.push_back({Position::InsideCooldown, "(p−s−1)·t_b", below * backward});
        }
        form.addRank(s, std::move(terms));
    }
    return form.finish("(p−1)·(t_f+t_b + m/p·(t_f−t_b))", "m·v·(t_f+t_b) + (p−1)·(t_f+t_b + m/p·(t_f−t_b))");
}

Result<ClosedForm> hanayoForm(const Schedule& schedule, const CostModel& costs) {
    const TimeNs forward = costs.times.forward;
    const TimeNs backward = costs.times.backward;
    const TimeNs both = forward + backward;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    const std::int64_t v = schedule.vpp;
    if (m % p == 0 && (forward >= backward || p == 1)) return hanayoPositions(schedule, costs);
    if (m <= p) {
        const TimeNs longer = std::max(forward, backward);
        const TimeNs shorter = std::min(forward, backward);
        const TimeNs bubble = 2 * (p - 1) * longer + (p - m) * ((v - 2) * longer + v * shorter);
        const std::string text = "2·(p−1)·L + (p−m)·((v−2)·L + v·S), L = max(t_f, t_b), S = min(t_f, t_b)";
        return makespanForm(schedule, costs, m * v * both + bubble, text, "m·v·(t_f+t_b) + " + text,
                            fmt::format("m ≤ p, v even, any t_f and t_b (per chunk){}", kEqualAndFree));
    }
    if (forward == backward) {
        const TimeNs makespan = (v * p * ((m + p - 1) / p) + (m - 1) % p) * both;
        return makespanForm(schedule, costs, makespan, "(v·(p·⌈m/p⌉−m) + (m−1) mod p)·(t_f+t_b)",
                            "(v·p·⌈m/p⌉ + (m−1) mod p)·(t_f+t_b)",
                            fmt::format("any m, v even, t_f = t_b (per chunk){}", kEqualAndFree));
    }
    return usageError("hanayo's closed form holds only for t_f = t_b, for m ≤ p, and for t_f > t_b if p divides m",
                      "use times that meet one of these conditions, or use `bubblescope simulate`");
}

Result<ClosedForm> hanayoGeneralForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const TimeNs t = costs.times.forward;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    const std::int64_t v = schedule.vpp;
    if (t != costs.times.backward || costs.comm > t || m % p != 0) {
        return usageError(
            "with slow transfers, hanayo's closed form holds only for t_f = t_b, c ≤ t_f and m divisible by p",
            "use `bubblescope simulate`");
    }
    const TimeNs c = p > 1 ? costs.comm : TimeNs{0};
    const TimeNs bubble = 2 * (p - 1) * (t + c) + 2 * (m / p) * (v * (p - 1) - 1) * c;
    const std::string text = "(p−1)·(t_f+t_b+2·c) + 2·m/p·(v·(p−1)−1)·c";
    return makespanForm(schedule, costs, 2 * m * v * t + bubble, text, "m·v·(t_f+t_b) + " + text,
                        "m divisible by p, p ≥ 2, v even, t_f = t_b (per chunk), c ≤ t_f; equal stages");
}

PeakForm hanayoPeaks(const Schedule& schedule) {
    const int p = schedule.pp;
    const int m = schedule.microbatches;
    const int v = schedule.vpp;
    const int round = std::min(m, p);
    return peakForm(schedule, "min(v·n, (v−1)·n + max(1, m−p+1) + s), n = min(m, p)", "any m, v even",
                    [=](int s) { return std::min(v * round, (v - 1) * round + std::max(1, m - p + 1) + s); });
}

std::vector<QuotedForm> hanayoQuotes(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    if (!freeTransfers(costs) || t.forward != t.backward || schedule.microbatches % schedule.pp != 0) return {};
    const double p = schedule.pp;
    const double waves = schedule.vpp / 2.0;
    return {ratioQuote(Quantity::BubbleRate,
                       {"Hanayo", "Hanayo paper", "(2·p−2)/(3·p·W+p−1), W waves",
                        "No order known here reaches this value, and its authors have not published code. For t_f "
                        "= t_b and p dividing m the share of the makespan is (p−1)/(m·v+p−1)."},
                       (2 * p - 2) / (3 * p * waves + p - 1), schedule.pp == 1)};
}

} // namespace

FamilyTheory hanayoTheory() {
    return {.family = "hanayo",
            .closed_form = hanayoForm,
            .peak_form = hanayoPeaks,
            .general_form = hanayoGeneralForm,
            .quoted_forms = hanayoQuotes};
}

} // namespace bubblescope
