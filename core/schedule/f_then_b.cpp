// F-then-B, known as GPipe: all forwards, then all backwards, micro-batches ascending in both.
//
// Closed form. Micro-batches leave stage 0 at 0, t_f, 2·t_f, …, so stage s starts at s·t_f and, since no
// stage is slower than another, runs its m forwards without a gap until (s+m)·t_f. The last stage turns
// around at (p−1+m)·t_f and each stage above it starts its backwards t_b later: stage s at
// (p−1+m)·t_f + (p−1−s)·t_b. Between the two it idles (p−1−s)·t_f + (p−1−s)·t_b. Its last backward ends
// at (p−1+m)·t_f + (p−1−s)·t_b + m·t_b, which is s·t_b before rank 0 ends the step.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

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

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    return FormBuilder(schedule, costs, "every m, every t_f and t_b; equal stages, transfers free")
        .addFillAndDrain()
        .finish("(p−1)·(t_f+t_b)", "(m+p−1)·(t_f+t_b)", true);
}

} // namespace

ScheduleFamily fThenBFamily() {
    return {"fthenb", "F-then-B (GPipe)", {"gpipe"}, {}, Placement::Loop, "m ≥ 1, v = 1", generate, familyForm};
}

} // namespace bubblescope
