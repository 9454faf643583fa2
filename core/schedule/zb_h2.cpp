// ZB-H2, zero bubble at twice the memory of 1F1B: rank s runs 2(p−s)−1 warm-up forwards, so many that they
// fill its wait for the first input gradient; then input gradients and forwards in turn, the weight
// gradients 2s behind, so that on every rank the last work ends shortly after the last rank's.
//
// Closed form, for m ≥ 2p−1. Rank s starts s·t_f late. From the last rank's first input gradient to rank 0's it
// takes (p−1)·t_i; rank 0 meanwhile runs the p−1 forwards that it has more than 1F1B: it waits (p−1)(t_i−t_f) if
// they are shorter. Rank 0 runs a weight gradient after every input gradient, the last rank is 2(p−1) of them
// behind by the end, so that input gradients come up every t_f+t_i early in the step and rank 0 takes
// t_f+t_i+t_w a turn: it loses p−1 times what t_f+t_i exceeds 2·t_w by. And the last rank loses its
// (p−1)·t_f before the first forward. The largest of the three decides the makespan:
// (p−1)·max(t_f, t_f+t_i−2·t_w, t_i−t_f).
//
// The zero in the name counts the bubble on a rank's own span, from its first op to its last: at its largest
// (p−1)·max(t_f+t_i−2·t_w, t_i−t_f, 0), which is 0 for t_f = t_i = t_w. From the step's start to its end
// every rank still idles (p−1)·t_f, unless the next step's forwards fill that.

#include "core/bubble/form_builder.h"
#include "core/schedule/families.h"
#include "core/schedule/phase_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace bubblescope {
namespace {

std::vector<Op> rankOrder(int p, int m, int s) {
    const auto op = [](OpKind kind, int k) { return Op{kind, Microbatch{k}, Chunk{0}}; };
    const int warmup = std::min(m, 2 * (p - s) - 1);
    const int lag = 2 * s;
    std::vector<Op> ops;
    for (int k = 0; k < warmup; ++k)
        ops.push_back(op(OpKind::Forward, k));
    for (int k = 0; k < m; ++k) {
        ops.push_back(op(OpKind::BackwardInput, k));
        if (k >= lag) ops.push_back(op(OpKind::BackwardWeight, k - lag));
        if (warmup + k < m) ops.push_back(op(OpKind::Forward, warmup + k));
    }
    for (int k = std::max(0, m - lag); k < m; ++k)
        ops.push_back(op(OpKind::BackwardWeight, k));
    return ops;
}

Result<Schedule> generate(const ScheduleSpec& spec) {
    BUBBLESCOPE_TRY(requireOneChunk(spec, "leave --vpp out, or use interleaved-zb or zb-v"));
    Schedule schedule = emptySchedule(spec, Placement::Loop);
    for (int s = 0; s < spec.pp; ++s)
        schedule.ranks.push_back(rankOrder(spec.pp, spec.microbatches, s));
    return schedule;
}

Result<ClosedForm> familyForm(const Schedule& schedule, const CostModel& costs) {
    const OpTimes& t = costs.times;
    const std::int64_t p = schedule.pp;
    const std::int64_t m = schedule.microbatches;
    if (m < 2 * p - 1) {
        return usageError(fmt::format("the closed form of zb-h2 holds for m ≥ 2p−1: {} micro-batches, {} ranks", m, p),
                          "use `bubblescope simulate`");
    }
    const TimeNs bubble =
        (p - 1) * std::max({t.forward, t.forward + t.input_grad - 2 * t.weight_grad, t.input_grad - t.forward});
    const std::string expression = "(p−1)·max(t_f, t_f+t_i−2·t_w, t_i−t_f)";
    return makespanForm(schedule, costs, m * (t.forward + t.input_grad + t.weight_grad) + bubble, expression,
                        "m·(t_f+t_i+t_w) + " + expression,
                        "m ≥ 2p−1, every t_f, t_i and t_w; equal stages, transfers free");
}

} // namespace

ScheduleFamily zbH2Family() {
    return {"zb-h2",   "ZB-H2 (zero bubble, twice the memory)", {}, {}, Placement::Loop, "m ≥ 1, v = 1", generate,
            familyForm};
}

} // namespace bubblescope
