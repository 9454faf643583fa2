// VPP in balanced memory, Paddle's order for p ≤ m < 2p when it is asked for the best unbalanced schedule: all
// micro-batches form one group, and rank s runs m(v−1) + p−s−1 warm-up forwards, so that only its last chunk
// runs in the steady part of 1F1B. Interleaved F-then-B takes as long but holds all m·v activations; here
// rank s holds m(v−1) + p−s.
//
// Closed form, with t_f and t_b of one chunk. The v−1 chunks of warm-up run without a gap, since m ≥ p
// micro-batches keep a rank busy until the first is back; what follows is the 1F1B of one_f_one_b.cpp on the
// last chunk, with its positions; the cool-down mirrors the warm-up.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

#include <fmt/format.h>

namespace bubblescope {
namespace {

int warmupForwards(int p, int m, int v, int s) {
    return m * (v - 1) + p - s - 1;
}

Result<Schedule> generate(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    const int v = spec.vpp;
    if (p < 3 || v < 2 || m < p || m >= 2 * p) {
        return usageError(
            fmt::format("vpp-balanced-memory needs p > 2, v > 1 and p ≤ m < 2p, not p = {}, v = {}, m = {}", p, v, m),
            "use interleaved for more micro-batches");
    }
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [m](int k) { return Op{OpKind::Forward, Microbatch{k % m}, Chunk{k / m}}; };
    const auto backward = [m, v](int k) { return Op{OpKind::Backward, Microbatch{k % m}, Chunk{v - 1 - k / m}}; };
    for (int s = 0; s < p; ++s)
        schedule.ranks.push_back(phaseOrder(m * v, warmupForwards(p, m, v, s), forward, backward));
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    return FormBuilder(schedule, costs, "p ≤ m < 2p, every t_f and t_b (of one chunk); equal stages, transfers free")
        .addFillAndDrain()
        .finish("(p−1)·(t_f+t_b)", "(m·v+p−1)·(t_f+t_b)");
}

} // namespace

ScheduleFamily vppBalancedMemoryFamily() {
    return {"vpp-balanced-memory", "VPP in balanced memory",   {},       {"paddle"},
            Placement::Loop,       "p > 2, v ≥ 2, p ≤ m < 2p", generate, familyForm};
}

} // namespace bubblescope
