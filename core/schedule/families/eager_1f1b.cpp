// Eager 1F1B: twice the warm-up of 1F1B, 2(p−s−1) forwards, so that activations are on their way before
// they are needed. Costs memory (2(p−s)−1 activations) and hides transfers up to (t_f+t_b)/2 long; where
// transfers are free its bubble is that of 1F1B.
//
// Closed form. The argument of one_f_one_b.cpp needs only that a rank's forwards are never late, and here
// they are earlier. The middle bubble can then be split in more than one way; the forms give the split of
// 1F1B, which stays possible.
//
// With latency c a turn from forward to backward has two micro-batches of work for each border instead of one: it
// costs nothing while 2·c ≤ t_f+t_b, and beyond that 2·c − (t_f+t_b) for each border passed (latency.h).

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/latency.h"

#include <algorithm>

namespace bubblescope {
namespace {

int warmupForwards(int p, int m, int s) {
    return std::min(m, 2 * (p - s - 1));
}

Result<Schedule> generate(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "leave --vpp out, or use interleaved"));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [](int k) { return Op{OpKind::Forward, Microbatch{k}, Chunk{0}}; };
    const auto backward = [](int k) { return Op{OpKind::Backward, Microbatch{k}, Chunk{0}}; };
    for (int s = 0; s < spec.pp; ++s) {
        schedule.ranks.push_back(
            phaseOrder(spec.microbatches, warmupForwards(spec.pp, spec.microbatches, s), forward, backward));
    }
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    FormBuilder form(schedule, costs, "every m, every t_f, t_b and c; equal stages");
    if (costs.comm.count() == 0) return form.addFillAndDrain().finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)");
    const TimeNs both = costs.times.forward + costs.times.backward;
    const TimeNs turning = turningLoss(schedule.pp, schedule.microbatches, 2, costs);
    form.addEnds().withTotal((schedule.pp - 1) * (both + 2 * costs.comm) + turning);
    if (2 * costs.comm <= both) return form.finish("(p−1)·(t_f+t_b+2·c)", "(m+p−1)·(t_f+t_b) + 2·(p−1)·c");
    return form.finish("(p−1)·(t_f+t_b+2·c) + (2·c−t_f−t_b)·⌊(m−1)·(p−1)/(2·p−1)⌋",
                       "(m+p−1)·(t_f+t_b) + 2·(p−1)·c + (2·c−t_f−t_b)·⌊(m−1)·(p−1)/(2·p−1)⌋");
}

PeakForm peaks(const Schedule& schedule) {
    return peakForm(schedule, "min(m, 2·(p−s)−1)", "every p and m",
                    [&](int s) { return std::min(schedule.microbatches, 2 * (schedule.pp - s) - 1); });
}

} // namespace

ScheduleFamily eager1F1BFamily() {
    return {"eager-1f1b",   "Eager 1F1B", {},         {},    Placement::Loop,
            "m ≥ 1, v = 1", generate,     familyForm, peaks, familyForm};
}

} // namespace bubblescope
