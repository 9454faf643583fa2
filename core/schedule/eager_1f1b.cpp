// Eager 1F1B: twice the warm-up of 1F1B, 2(p−s−1) forwards, so that activations are on their way before
// they are needed. Costs memory (2(p−s)−1 activations) and hides transfers up to (t_f+t_b)/2 long; where
// transfers are free its bubble is that of 1F1B.
//
// Closed form. The argument of one_f_one_b.cpp needs only that a rank's forwards are never late, and here
// they are earlier. The middle bubble can then be split in more than one way; the forms give the split of
// 1F1B, which stays possible.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

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
    return FormBuilder(schedule, costs, "every m, every t_f and t_b; equal stages, transfers free")
        .addFillAndDrain()
        .finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)");
}

} // namespace

ScheduleFamily eager1F1BFamily() {
    return {"eager-1f1b", "Eager 1F1B", {}, {}, Placement::Loop, "m ≥ 1, v = 1", generate, familyForm};
}

} // namespace bubblescope
