// Closed forms of the orders that run all forwards before all backwards.
//
// F-then-B (GPipe, Huang et al., 2019). Micro-batches leave stage 0 at 0, t_f, 2·t_f, …, so stage s starts at s·t_f. No
// stage is slower than another, so it runs its m forwards without a gap until (s+m)·t_f. The last stage turns around at
// (p−1+m)·t_f, and each stage above it starts its backwards t_b later: stage s at (p−1+m)·t_f + (p−1−s)·t_b. Between
// the two it idles for (p−1−s)·t_f + (p−1−s)·t_b. Its last backward ends at (p−1+m)·t_f + (p−1−s)·t_b + m·t_b, which is
// s·t_b before rank 0 ends the step. A latency c delays each stage by another c on the way down and on the way up.
//
// Unequal stages. When equal jobs pass machines in a row, the last job leaves Σf + (m−1)·max f after the first one
// entered: nothing waits behind the slowest machine, and nothing is delayed before it. The last stage has all forwards
// by then, and the backwards do the same in the other direction.
//
// Looped breadth-first (Lamy-Poirier 2023), with t_f and t_b of one chunk. A rank can start chunk c+1 once the first
// micro-batch has come round the loop, p·t_f after it started chunk c; it is busy with chunk c for m·t_f of that time.
// With m ≥ p nothing is lost, and the bubble is that of F-then-B in chunk times, (p−1)(t_f+t_b). With m < p each of the
// v−1 wraps loses (p−m)·t_f going forward and (p−m)·t_b going back. Latency lengthens the loop as it lengthens filling
// and draining (latency.h). Descending backwards only rename micro-batches: each stage still gets one gradient every
// t_b. Circular is such an order. Interleaved F-then-B is the same order within narrower limits; as m ≥ p, nothing is
// lost there.

#include "core/theory/forms/family_theory.h"

#include "core/families/families.h"
#include "core/theory/forms/form_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

Result<ClosedForm> unequalFThenBForm(const Schedule& schedule, const CostModel& costs) {
    TimeNs sum{0};
    TimeNs longest_forward{0};
    TimeNs longest_backward{0};
    for (const OpTimes& stage : costs.stages) {
        sum += stage.forward + stage.backward;
        longest_forward = std::max(longest_forward, stage.forward);
        longest_backward = std::max(longest_backward, stage.backward);
    }
    const TimeNs makespan =
        sum + (schedule.microbatches - 1) * (longest_forward + longest_backward) + 2 * (schedule.pp - 1) * costs.comm;
    const std::string expression = "Σt_f + Σt_b + (m−1)·(max t_f + max t_b) + 2·(p−1)·c";
    ClosedForm form = makespanForm(schedule, costs, makespan, expression + " − m·(t_f+t_b) of the rank", expression,
                                   "any m, any times per stage, any c");
    form.f_then_b = true;
    return withSpan(std::move(form), form.bubble.front(), makespan - form.bubble.front());
}

Result<ClosedForm> fThenBForm(const Schedule& schedule, const CostModel& costs) {
    if (!costs.stages.empty()) return unequalFThenBForm(schedule, costs);
    FormBuilder form(schedule, costs,
                     freeTransfers(costs) ? "any m, any t_f and t_b, c = 0; equal stages"
                                          : "any m, any t_f, t_b and c; equal stages");
    form.addFillAndDrain();
    if (freeTransfers(costs)) return form.finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)", true);
    return form.finish("(p−1)·(t_f+t_b+2·c)", "(m+p−1)·(t_f+t_b) + 2·(p−1)·c", true);
}

PeakForm fThenBPeaks(const Schedule& schedule) {
    return peakForm(schedule, "m", "any p and m", [&](int) { return schedule.microbatches; });
}

std::vector<QuotedForm> fThenBQuotes(const Schedule& schedule, const CostModel& costs) {
    return {overIdealQuote(schedule, costs, 1)};
}

Result<ClosedForm> loopedBfsForm(const Schedule& schedule, const CostModel& costs) {
    return breadthFirstForm(schedule, costs, "any m and v, any t_f, t_b and c (per chunk); equal stages");
}

PeakForm loopedBfsPeaks(const Schedule& schedule) {
    return peakForm(schedule, "m·v", "any p, m and v", [&](int) { return schedule.microbatches * schedule.vpp; });
}

std::vector<QuotedForm> loopedBfsQuotes(const Schedule& schedule, const CostModel& costs) {
    return {overIdealQuote(schedule, costs, schedule.vpp)};
}

Result<ClosedForm> circularForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(checkCircular(schedule.pp, schedule.microbatches));
    return breadthFirstForm(schedule, costs, "m divisible by p, any v, any t_f, t_b and c (per chunk); equal stages");
}

/// MaxText's fraction, and its option that hides a transfer behind the sender's next op.
std::vector<QuotedForm> circularQuotes(const Schedule& schedule, const CostModel& costs) {
    const std::int64_t p = schedule.pp;
    const std::int64_t units = std::int64_t{schedule.microbatches} * schedule.vpp;
    const OpTimes& t = costs.times;
    const TimeNs both = t.forward + t.backward;
    const TimeNs delayed = (units + 2 * (p - 1)) * both;
    const TimeNs simulated = (units + p - 1) * both + 2 * (p - 1) * costs.comm +
                             wrapLoss(p, schedule.vpp, schedule.microbatches, costs).both();
    return {
        ratioQuote(Quantity::BubbleRate,
                   {"circular pipeline", "MaxText documentation", "(p−1)/(repeats·m+p−1)",
                    "Its repeats are the chunks per rank, v. It holds if transfers are free."},
                   static_cast<double>(p - 1) / static_cast<double>(units + p - 1), p == 1 || freeTransfers(costs)),
        timeQuote(Quantity::Makespan,
                  {"delayed activation forwarding", "MaxText, layers/pipeline.py", "(repeats·m + 2·(p−1))·(t_f+t_b)",
                   "With pipeline_delay_activation_forwarding, an output reaches the next rank one op late, so the "
                   "bubble doubles. Here that is a latency of one op, c = t_f = t_b, which needs m ≥ 2p if v > 1."},
                  delayed, delayed == simulated)};
}

Result<ClosedForm> interleavedFThenBForm(const Schedule& schedule, const CostModel& costs) {
    return breadthFirstForm(schedule, costs, "p ≤ m < 2p, any t_f, t_b and c (per chunk); equal stages");
}

PeakForm interleavedFThenBPeaks(const Schedule& schedule) {
    return peakForm(schedule, "m·v", "p ≤ m < 2p", [&](int) { return schedule.microbatches * schedule.vpp; });
}

} // namespace

Result<ClosedForm> breadthFirstForm(const Schedule& schedule, const CostModel& costs, std::string domain) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    const WrapLoss wrap = wrapLoss(schedule.pp, schedule.vpp, schedule.microbatches, costs);
    FormBuilder form(schedule, costs, std::move(domain));
    form.addFillAndDrain();
    if (freeTransfers(costs)) {
        return form.add(Position::InsideWarmup, "(v−1)·max(0, p−m)·t_f", [&](int) { return wrap.forward; })
            .add(Position::InsideCooldown, "(v−1)·max(0, p−m)·t_b", [&](int) { return wrap.backward; })
            .finish("((p−1) + (v−1)·max(0, p−m))·(t_f+t_b)", "(m·v+p−1 + (v−1)·max(0, p−m))·(t_f+t_b)", true);
    }
    const std::string forward = "(v−1)·max(0, p·(t_f+c)−m·t_f)";
    const std::string backward = "(v−1)·max(0, p·(t_b+c)−m·t_b)";
    const std::string bubble = fmt::format("(p−1)·(t_f+t_b+2·c) + {} + {}", forward, backward);
    return form.add(Position::InsideWarmup, forward, [&](int) { return wrap.forward; })
        .add(Position::InsideCooldown, backward, [&](int) { return wrap.backward; })
        .finish(bubble, "m·v·(t_f+t_b) + " + bubble, true);
}

FamilyTheory fThenBTheory() {
    return {.family = "fthenb",
            .closed_form = fThenBForm,
            .peak_form = fThenBPeaks,
            .general_form = fThenBForm,
            .quoted_forms = fThenBQuotes};
}

FamilyTheory loopedBfsTheory() {
    return {.family = "looped-bfs",
            .closed_form = loopedBfsForm,
            .peak_form = loopedBfsPeaks,
            .general_form = loopedBfsForm,
            .quoted_forms = loopedBfsQuotes};
}

FamilyTheory circularTheory() {
    return {.family = "circular",
            .closed_form = circularForm,
            .peak_form = loopedBfsPeaks,
            .general_form = circularForm,
            .quoted_forms = circularQuotes};
}

FamilyTheory interleavedFThenBTheory() {
    return {.family = "interleaved-fthenb",
            .closed_form = interleavedFThenBForm,
            .peak_form = interleavedFThenBPeaks,
            .general_form = interleavedFThenBForm};
}

} // namespace bubblescope
