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
// A rank with m ≤ p−s has all forwards before all backwards and no steady part; its two middle bubbles
// are one.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

#include <algorithm>

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

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    return FormBuilder(schedule, costs, "every m, every t_f and t_b; equal stages, transfers free")
        .addFillAndDrain()
        .finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)");
}

} // namespace

ScheduleFamily oneFOneBFamily() {
    return {"1f1b", "1F1B (PipeDream-Flush, DAPPLE)", {}, {}, Placement::Loop, "m ≥ 1, v = 1", generate, familyForm};
}

} // namespace bubblescope
