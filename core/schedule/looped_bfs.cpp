// Looped breadth-first: every micro-batch through chunk 0, then every one through chunk 1, …; backwards
// from the last chunk to the first. Flavor torch runs the
// micro-batches of a backward in descending order.
//
// Closed form, with t_f and t_b of one chunk. A rank can start chunk c+1 once the first micro-batch has
// come round the loop, p·t_f after it started chunk c; it is busy with chunk c for m·t_f of them. With
// m ≥ p nothing is lost and the bubble is that of F-then-B in chunk times, (p−1)(t_f+t_b). With m < p each
// of the v−1 wraps loses (p−m)·t_f going forward and (p−m)·t_b going back.
// Descending backwards change the micro-batches' names only: each stage still gets one gradient every t_b.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

#include <algorithm>

namespace bubblescope {
namespace {

Result<Schedule> generate(const ScheduleSpec& spec) {
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const int m = spec.microbatches;
    const bool descending = spec.flavor == "torch";
    const auto forward = [&](int k) { return Op{OpKind::Forward, Microbatch{k % m}, Chunk{k / m}}; };
    const auto backward = [&](int k) {
        const int at = k % m;
        return Op{OpKind::Backward, Microbatch{descending ? m - 1 - at : at}, Chunk{spec.vpp - 1 - k / m}};
    };
    schedule.ranks.assign(static_cast<std::size_t>(spec.pp), phaseOrder(m * spec.vpp, m * spec.vpp, forward, backward));
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const int p = schedule.pp;
    const int wraps = (schedule.vpp - 1) * std::max(0, p - schedule.microbatches);
    return FormBuilder(schedule, costs, "every m and v, every t_f and t_b (of one chunk); equal stages, transfers free")
        .addFillAndDrain()
        .add(Position::InsideWarmup, "(v−1)·max(0, p−m)·t_f", [&](int) { return wraps * t.forward; })
        .add(Position::InsideCooldown, "(v−1)·max(0, p−m)·t_b", [&](int) { return wraps * t.backward; })
        .finish("((p−1) + (v−1)·max(0, p−m))·(t_f+t_b)", "(m·v+p−1 + (v−1)·max(0, p−m))·(t_f+t_b)", true);
}

} // namespace

ScheduleFamily loopedBfsFamily() {
    return {"looped-bfs",    "Looped breadth-first", {},       {"breadth-first", "torch"},
            Placement::Loop, "m ≥ 1, v ≥ 1",         generate, familyForm};
}

} // namespace bubblescope
