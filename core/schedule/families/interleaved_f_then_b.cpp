// Interleaved F-then-B, Paddle's choice while there are fewer than two groups of p micro-batches: every
// micro-batch through chunk 0, then every one through chunk 1, …, and back in the same way. It is the order of
// looped_bfs.cpp within narrower limits; as m ≥ p, the first micro-batch is back from the loop before a rank
// asks for it, and the closed form is that of F-then-B in chunk times.

#include "core/schedule/families/families.h"
#include "core/schedule/families/looped_bfs.h"
#include "core/schedule/families/phase_order.h"
#include "core/theory/form_builder.h"

#include <fmt/format.h>

namespace bubblescope {
namespace {

Result<Schedule> generate(const ScheduleSpec& spec) {
    const int p = spec.pp;
    const int m = spec.microbatches;
    const int v = spec.vpp;
    if (p < 3 || v < 2 || m < p || m >= 2 * p) {
        return usageError(
            fmt::format("interleaved-fthenb needs p > 2, v > 1 and p ≤ m < 2p, not p = {}, v = {}, m = {}", p, v, m),
            "use interleaved for more micro-batches, looped-bfs for any number");
    }
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    const auto forward = [m](int k) { return Op{OpKind::Forward, Microbatch{k % m}, Chunk{k / m}}; };
    const auto backward = [m, v](int k) { return Op{OpKind::Backward, Microbatch{k % m}, Chunk{v - 1 - k / m}}; };
    schedule.ranks.assign(static_cast<std::size_t>(p), phaseOrder(m * v, m * v, forward, backward));
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    return breadthFirstForm(schedule, costs, "p ≤ m < 2p, every t_f, t_b and c (of one chunk); equal stages");
}

PeakForm peaks(const Schedule& schedule) {
    return peakForm(schedule, "m·v", "p ≤ m < 2p", [&](int) { return schedule.microbatches * schedule.vpp; });
}

} // namespace

ScheduleFamily interleavedFThenBFamily() {
    return {"interleaved-fthenb",
            "Interleaved F-then-B",
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
