// F-then-B, known as GPipe: all forwards, then all backwards, micro-batches ascending in both.
//
// Closed form. Micro-batches leave stage 0 at 0, t_f, 2·t_f, …, so stage s starts at s·t_f and, since no
// stage is slower than another, runs its m forwards without a gap until (s+m)·t_f. The last stage turns
// around at (p−1+m)·t_f and each stage above it starts its backwards t_b later: stage s at
// (p−1+m)·t_f + (p−1−s)·t_b. Between the two it idles (p−1−s)·t_f + (p−1−s)·t_b. Its last backward ends
// at (p−1+m)·t_f + (p−1−s)·t_b + m·t_b, which is s·t_b before rank 0 ends the step. A latency c delays each stage by
// one more c on the way down and on the way up.
//
// Unequal stages: of equal jobs through machines in a row the last leaves Σf + (m−1)·max f after the first entered,
// since behind the slowest machine nobody waits and before it nothing is held up. The last stage has all
// forwards by then and the backwards do the same in the other direction.

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/quotes.h"

#include <algorithm>
#include <string>
#include <utility>

namespace bubblescope {
namespace {

Result<Schedule> generate(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "leave --vpp out, or use interleaved"));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    const int m = spec.microbatches;
    schedule.ranks.assign(static_cast<std::size_t>(spec.pp), phaseOrder(m, m, forward, backward));
    return schedule;
}

Result<ClosedForm> unequalForm(const Schedule& schedule, const CostModel& costs) {
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
                                   "every m, any times per stage, every c");
    form.f_then_b = true;
    return withSpan(std::move(form), form.bubble.front(), makespan - form.bubble.front());
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    if (!costs.stages.empty()) return unequalForm(schedule, costs);
    FormBuilder form(schedule, costs, "every m, every t_f, t_b and c; equal stages");
    form.addFillAndDrain();
    if (costs.comm.count() == 0) return form.finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)", true);
    return form.finish("(p−1)·(t_f+t_b+2·c)", "(m+p−1)·(t_f+t_b) + 2·(p−1)·c", true);
}

PeakForm peaks(const Schedule& schedule) {
    return peakForm(schedule, "m", "every p and m", [&](int) { return schedule.microbatches; });
}

std::vector<QuotedForm> quotes(const Schedule& schedule, const CostModel& costs) {
    return {overIdealQuote(schedule, costs, 1)};
}

} // namespace

ScheduleFamily fThenBFamily() {
    return {"fthenb", "F-then-B (GPipe)", {"gpipe"}, {},         Placement::Loop, "m ≥ 1, v = 1",
            generate, familyForm,         peaks,     familyForm, quotes};
}

} // namespace bubblescope
