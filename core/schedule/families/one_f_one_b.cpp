// 1F1B (PipeDream-Flush, DAPPLE): rank s runs min(m, p−s−1) warm-up forwards, then one forward and one
// backward in turn, then the backwards that are left.
//
// Closed form, on the consolidated timeline, where the steady part of each rank is contiguous. Let X(s)
// be the bubble before it. The first backward of rank s needs that of rank s+1, which ends t_b after
// rank s+1 could start it: X(s) ≥ X(s+1) + t_b. The forwards of rank s+1 need those of rank s, which
// allows no more than X(s) ≤ X(s+1) + t_b once the steady part is contiguous. X(p−1) = 0, so
// X(s) = (p−s−1)·t_b. The rank's total is (p−1)(t_f+t_b), of which s·t_f lie before its first forward
// and s·t_b after its last backward, as in F-then-B; what is left, (p−s−1)·t_f, lies between the steady
// part and cool-down. (Put the other way round, as it is sometimes drawn, the forms contradict the
// dependencies whenever t_f ≠ t_b.) As executed without consolidation the latter are p−s−1 single gaps
// of t_f in front of the cool-down backwards.
//
// With latency c the step takes (p−1)·2·c more for filling and draining, and 2·c for each border that it passes
// while it turns round (latency.h): steady parts are no longer contiguous, only the outer positions are stated.
//
// Unequal stages, t_i = t_f+t_b of stage i. One micro-batch passes all stages down and up, which takes Σt; rank s
// needs m·t_s after the forwards and before the backwards of the stages above it. No more is known in general.
// Where the last stage is the slowest, it never waits between its first op and its last: the ranks above
// it bring a forward at least every t_last. Then the second bound, with s = p−1, is attained.
//
// A rank with m ≤ p−s has all forwards before all backwards and no steady part; its two middle bubbles
// are one.

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/latency.h"
#include "core/theory/quotes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

Result<Schedule> generate(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "leave --vpp out, or use interleaved"));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    for (int s = 0; s < spec.pp; ++s) {
        const int warmup = std::min(spec.microbatches, spec.pp - s - 1);
        schedule.ranks.push_back(phaseOrder(spec.microbatches, warmup, forward, backward));
    }
    return schedule;
}

Result<ClosedForm> unequalForm(const Schedule& schedule, const CostModel& costs) {
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
    if (last == longest && costs.comm.count() == 0) {
        ClosedForm form = makespanForm(schedule, costs, before + (m - 1) * last, "Σt + (m−1)·t_last − m·t of the rank",
                                       "Σt + (m−1)·t_last, t = t_f+t_b",
                                       "every m, the last stage's t_f+t_b the largest; transfers free");
        return withSpan(std::move(form), form.bubble.front(), form.makespan - form.bubble.front());
    }
    ClosedForm form =
        makespanForm(schedule, costs, std::max(before, bound), "the bound − m·t of the rank",
                     "max(Σt, max_s(Σ_{i<s} t_i + m·t_s)), t = t_f+t_b", "every m, any times per stage, every c");
    form.kind = FormKind::LowerBound;
    form.note = "on unequal stages 1f1b has an exact form where transfers are free and the last stage is the slowest";
    return form;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    if (!costs.stages.empty()) return unequalForm(schedule, costs);
    FormBuilder form(schedule, costs, "every m, every t_f, t_b and c; equal stages");
    const TimeNs turning = turningLoss(schedule.pp, schedule.microbatches, 1, costs);
    if (costs.comm.count() == 0) return form.addFillAndDrain().finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)");
    const TimeNs fill = (schedule.pp - 1) * (costs.times.forward + costs.times.backward + 2 * costs.comm);
    return form.addEnds()
        .withTotal(fill + turning)
        .finish("(p−1)·(t_f+t_b) + 2·c·(p−1 + ⌊(m−1)·(p−1)/p⌋)", "(m+p−1)·(t_f+t_b) + 2·c·(p−1 + ⌊(m−1)·(p−1)/p⌋)");
}

PeakForm peaks(const Schedule& schedule) {
    return peakForm(schedule, "min(m, p−s)", "every p and m",
                    [&](int s) { return std::min(schedule.microbatches, schedule.pp - s); });
}

/// The deck's split of the middle, where there is a rank that it speaks of.
std::vector<QuotedForm> splitQuotes(const Schedule& schedule, const OpTimes& t) {
    if (schedule.pp < 2 || schedule.microbatches < 3) return {};
    const auto below = [&](TimeNs op) { // ranks without a steady part have neither position
        return [&schedule, op](int s) {
            const int left = schedule.pp - s - 1;
            return schedule.microbatches > left + 1 ? left * op : TimeNs{0};
        };
    };
    const std::string swapped =
        "It has the two middle bubbles the wrong way round, which contradicts the dependencies unless t_f = t_b. Right "
        "are (p−s−1)·t_b before the steady part and (p−s−1)·t_f after it; the total is the same.";
    const bool alike = t.forward == t.backward;
    return {positionQuote(schedule,
                          {"inner split of 1F1B, before the steady part", "seed deck", "(p−s−1)·t_f", swapped},
                          Position::WarmupToSteady, below(t.forward), alike),
            positionQuote(schedule, {"inner split of 1F1B, after the steady part", "seed deck", "(p−s−1)·t_b", swapped},
                          Position::SteadyToCooldown, below(t.backward), alike)};
}

std::vector<QuotedForm> quotes(const Schedule& schedule, const CostModel& costs) {
    const int p = schedule.pp;
    const OpTimes& t = costs.times;
    const bool free = costs.comm.count() == 0;
    auto list = free ? splitQuotes(schedule, t) : std::vector<QuotedForm>{};
    list.push_back(
        bubbleQuote(schedule,
                    {"1F1B changes memory, not time", "seed deck", "(p−1)·(t_f+t_b+2·c), as F-then-B",
                     "It holds where transfers are free. With latency c 1F1B is slower than F-then-B by "
                     "2·c·⌊(m−1)·(p−1)/p⌋, since every turn from forward to backward waits for a round trip."},
                    (p - 1) * (t.forward + t.backward + 2 * costs.comm),
                    turningLoss(p, schedule.microbatches, 1, costs).count() == 0));
    list.push_back(overIdealQuote(schedule, costs, 1));
    return list;
}

} // namespace

ScheduleFamily oneFOneBFamily() {
    return {"1f1b",
            "1F1B (PipeDream-Flush, DAPPLE)",
            {},
            {},
            Placement::Loop,
            "m ≥ 1, v = 1",
            generate,
            familyForm,
            peaks,
            familyForm,
            quotes};
}

} // namespace bubblescope
