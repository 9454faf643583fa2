// VPP in balanced memory, Paddle's order for p ≤ m < 2p when it is asked for the best unbalanced schedule: all
// micro-batches form one group, and rank s runs m(v−1) + p−s−1 warm-up forwards, so that only its last chunk
// runs in the steady part of 1F1B. Interleaved F-then-B takes as long but holds all m·v activations; here
// rank s holds m(v−1) + p−s.
//
// Closed form, with t_f and t_b of one chunk. The v−1 chunks of warm-up run without a gap, since m ≥ p
// micro-batches keep a rank busy until the first is back; what follows is the 1F1B of one_f_one_b.cpp on the
// last chunk, with its positions; the cool-down mirrors the warm-up. Latency makes the wraps between chunks wait where
// m micro-batches are too few for the round, and the 1F1B of the last chunk turn round as in 1F1B (latency.h).

#include "core/schedule/families/families.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"
#include "core/theory/latency.h"

#include <fmt/format.h>

#include <string>

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
    BUBBLESCOPE_TRY(requireEqualStages(costs));
    FormBuilder form(schedule, costs, "p ≤ m < 2p, every t_f, t_b and c (of one chunk); equal stages");
    if (costs.comm.count() == 0) return form.addFillAndDrain().finish("(p−1)·(t_f+t_b)", "(m·v+p−1)·(t_f+t_b)");
    const TimeNs fill = (schedule.pp - 1) * (costs.times.forward + costs.times.backward + 2 * costs.comm);
    const TimeNs turning = turningLoss(schedule.pp, schedule.microbatches, 1, costs);
    const TimeNs wraps = wrapLoss(schedule.pp, schedule.vpp, schedule.microbatches, costs).both();
    const std::string bubble = "(p−1)·(t_f+t_b) + 2·c·(p−1 + ⌊(m−1)·(p−1)/p⌋) + "
                               "(v−1)·(max(0, p·(t_f+c)−m·t_f) + max(0, p·(t_b+c)−m·t_b))";
    return form.addEnds().withTotal(fill + turning + wraps).finish(bubble, "m·v·(t_f+t_b) + " + bubble);
}

PeakForm peaks(const Schedule& schedule) {
    const int whole = schedule.microbatches * (schedule.vpp - 1);
    return peakForm(schedule, "m·(v−1) + p−s", "p ≤ m < 2p", [&](int s) { return whole + schedule.pp - s; });
}

} // namespace

ScheduleFamily vppBalancedMemoryFamily() {
    return {"vpp-balanced-memory",
            "VPP in balanced memory",
            {},
            {"paddle"},
            Placement::Loop,
            "p > 2, v ≥ 2, p ≤ m < 2p",
            generate,
            familyForm,
            peaks,
            familyForm};
}

} // namespace bubblescope
